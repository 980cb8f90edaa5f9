"""The commands that tell about the program itself: `models`, `config`, `schema` and `doctor`."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from ocrcli.errors import ExitCode
from ocrcli.guard import guarded
from ocrcli.settings import chosen_model, key, resolve
from ocrcli.streams import write_stdout

_ModelPath = Annotated[
    Path | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="Folder, safetensors file or org/name[@revision] [default: shipped].",
    ),
]
_Verbosity = Annotated[
    int,
    typer.Option("--verbose", "-v", count=True, show_default=False, help="-vv: tracebacks."),
]

models = typer.Typer(help="Show what is known of models.", rich_markup_mode=None)
config = typer.Typer(help="Show settings.", rich_markup_mode=None)


@models.command("info")
def models_info(model: _ModelPath = None, verbose: _Verbosity = 0) -> int:
    """Show a model's files, hashes, what it reads, and its settings."""

    def text() -> str:
        from ocrcli.model_info import describe_model

        return describe_model(chosen_model(model))

    return _shown(text, verbose)


@models.command("list")
def models_list(verbose: _Verbosity = 0) -> int:
    """Show the shipped model, and the one that is set."""

    def text() -> str:
        from ocrcli.model_info import list_models

        return list_models(chosen_model(None))

    return _shown(text, verbose)


@models.command("verify")
def models_verify(model: _ModelPath = None, verbose: _Verbosity = 0) -> int:
    """Check that a model's files are complete and fit each other."""

    def text() -> str:
        from ocrcli.model_info import verify_model

        return verify_model(chosen_model(model))

    return _shown(text, verbose)


def show_model() -> int:
    """Print which model is used, in one line."""

    def text() -> str:
        from ocrcli.model_info import name_model

        return name_model(chosen_model(None))

    return _shown(text, 0)


@config.command("show")
def config_show(verbose: _Verbosity = 0) -> int:
    """Show every setting and where it comes from."""

    def text() -> str:
        settings = resolve({}, os.environ, Path())
        return "\n".join(
            f"{key(setting.name)} = {_value(setting.value)}  ({setting.origin})"
            for setting in settings.values()
        )

    return _shown(text, verbose)


def schema() -> int:
    """Print the JSON Schema of --format jsonl."""

    def text() -> str:
        import json

        from ocrcli.writers.schema import json_schema

        return json.dumps(json_schema(), indent=2)

    return _shown(text, 0)


def doctor(verbose: _Verbosity = 0) -> int:
    """Show versions, devices and the model, for reports of problems."""

    def text() -> str:
        from ocrcli.diagnosis import diagnosis

        return diagnosis(chosen_model(None))

    return _shown(text, verbose)


def _value(value: object) -> str:
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shown(text: Callable[[], str], verbosity: int) -> int:
    def work() -> int:
        write_stdout(sys.stdout, f"{text()}\n")
        return ExitCode.OK

    return guarded(work, verbosity)
