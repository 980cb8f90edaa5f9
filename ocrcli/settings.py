"""Where settings come from: flag > environment > project file > user file > default.

Every setting has one name, used in all places: `--page-timeout`, `OCRCLI_PAGE_TIMEOUT` and
`page-timeout` in a file mean the same.
"""

import difflib
import os
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path

from ocrcli.errors import UsageError
from ocrcli.hub import is_name
from ocrcli.options import Options, choice

PROJECT_FILE = "ocrcli.toml"
"""Settings of a project, looked for in the current folder."""

_NOT_CONFIGURABLE = frozenset(
    (
        *("output", "figures", "pages", "password", "verbosity"),
        *("dry_run", "force", "benchmark_output"),
    )
)
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True)
class Setting:
    """A setting and where it comes from.

    Attributes:
        name: The option's field, such as "page_timeout".
        value: What it is set to.
        origin: "flag", the variable's name, the file's path, or "default".
    """

    name: str
    value: object
    origin: str


def names() -> tuple[str, ...]:
    """Return the fields of `Options` that variables and files may set."""
    return tuple(item.name for item in fields(Options) if item.name not in _NOT_CONFIGURABLE)


def resolve(
    flags: Mapping[str, object], variables: Mapping[str, str], folder: Path
) -> dict[str, Setting]:
    """Return every setting that variables and files may set.

    Args:
        flags: What the command line said, by field; only what was given.
        variables: The environment.
        folder: Where the project's file is looked for.

    Raises:
        UsageError: A variable or a file holds something without meaning.
    """
    found = {item.name: Setting(item.name, item.default, "default") for item in fields(Options)}
    found = {name: found[name] for name in names()}
    for path in (user_file(variables), folder / PROJECT_FILE):
        found.update(_from_file(path))
    for name in found:
        variable = f"OCRCLI_{name.upper()}"
        if variables.get(variable):
            value = _converted(name, variables[variable], variable)
            found[name] = Setting(name, value, variable)
    for name, value in flags.items():
        if name in found:
            found[name] = Setting(name, _typed(name, value), "flag")
    return found


def chosen_model(given: Path | None) -> Path | None:
    """Return the model to use: the given one, the one that is set, or None for the shipped one.

    Args:
        given: What the command line names, or None.

    Raises:
        UsageError: A variable or a file holds something without meaning.
    """
    if given is not None:
        return given
    found = resolve({}, os.environ, Path())["model"].value
    return found if isinstance(found, Path) else None


def user_file(variables: Mapping[str, str]) -> Path:
    """Return where the user's own settings are kept."""
    base = variables.get("XDG_CONFIG_HOME")
    home = Path(variables.get("HOME") or "~").expanduser()
    return (Path(base) if base else home / ".config") / "ocrcli" / "config.toml"


def key(name: str) -> str:
    """Return a setting's name as files and flags write it."""
    return name.replace("_", "-")


def _from_file(path: Path) -> dict[str, Setting]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except IsADirectoryError as error:
        raise UsageError(
            "is a folder, where a file with settings is looked for",
            source=str(path),
            next_action="rename the folder",
        ) from error
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot be used: {error}", source=str(path), next_action="mend or remove the file"
        ) from error
    settings = {}
    for given, value in content.items():
        name = given.replace("-", "_")
        if name not in names():
            near = difflib.get_close_matches(given, map(key, names()), n=1)
            advice = f'did you mean "{near[0]}"?' if near else "see ocrcli config show"
            raise UsageError(f'there is no setting "{given}"', source=str(path), next_action=advice)
        converted = _converted(name, value, f"{path}: {given}")
        if isinstance(converted, Path) and not _names_model(converted, path.parent):
            converted = path.parent / converted
        settings[name] = Setting(name, converted, str(path))
    return settings


def _names_model(model: Path, folder: Path) -> bool:
    return is_name(model) and not (folder / model).exists()


def _kind(name: str) -> type:
    hint = typing.get_type_hints(Options)[name]
    if isinstance(hint, types.UnionType):
        (hint,) = (part for part in typing.get_args(hint) if part is not type(None))
    return hint


def _typed(name: str, value: object) -> object:
    """Return what a flag says in the type of its setting.

    Typer 0.27 checks what it is given and then keeps paths and choices as the words they were.
    """
    kind = _kind(name)
    return kind(value) if isinstance(value, str) and issubclass(kind, Path | StrEnum) else value


def _converted(name: str, value: object, where: str) -> object:
    kind = _kind(name)
    text = str(value).strip()
    if issubclass(kind, StrEnum):
        return choice(kind, where, text)
    if kind is Path:
        return Path(text)
    if kind is str:
        return text
    if kind is bool:
        if text.lower() in _TRUE + _FALSE:
            return text.lower() in _TRUE
        raise UsageError(f'{where} must be true or false, got "{text}"', next_action="")
    try:
        return int(text) if kind is int else float(text)
    except ValueError:
        raise UsageError(f'{where} must be a number, got "{text}"', next_action="") from None
