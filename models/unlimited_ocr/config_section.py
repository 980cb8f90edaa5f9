"""Typed reading of one JSON object of settings, with a memory of what was asked for.

A configuration written by others is read key by key: a value of the wrong type must be reported by
its full name, and a setting that no code asked for must not vanish.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")


class ConfigError(ValueError):
    """A `config.json` that cannot describe a model; the message names the key."""


class ConfigSection:
    """One object of a configuration."""

    def __init__(self, values: object, path: str = "") -> None:
        """Wrap an object.

        Args:
            values: The parsed JSON value; None counts as an empty object.
            path: Keys that lead to it, joined by dots; empty for the top level.

        Raises:
            ConfigError: `values` is no JSON object.
        """
        if values is None:
            values = {}
        if not isinstance(values, Mapping):
            raise ConfigError(
                f"config key {path} must be a JSON object, got {values!r}; correct config.json"
            )
        self.values = dict(values)
        self._path = path
        self._used: set[str] = set()

    def get(self, names: str | tuple[str, ...], default: T, minimum: int = 1) -> T:
        """Return the first of `names` that is present and not null, else `default`.

        Args:
            names: A key, or aliases of one setting.
            default: Used when no key is present; its type is the type that a value must have. An
                integer is accepted for a float. Lists become tuples of integers.
            minimum: Least integer accepted, also inside lists.

        Raises:
            ConfigError: The value has another type or is too small.
        """
        for name in (names,) if isinstance(names, str) else names:
            if name in self.values:
                self._used.add(name)
                if self.values[name] is not None:
                    return _typed(self._full(name), self.values[name], default, minimum)
        return default

    def section(self, name: str) -> "ConfigSection":
        """Return the object under `name`, empty when absent or null.

        Raises:
            ConfigError: The value is no JSON object.
        """
        self._used.add(name)
        return ConfigSection(self.values.get(name), self._full(name))

    def choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        """Return the word under `name`, which must be one of `choices`.

        Raises:
            ConfigError: The value is another word, or none.
        """
        value = self.get(name, default)
        if value not in choices:
            raise ConfigError(
                f'config key {self._full(name)} must be {" or ".join(choices)}, got "{value}"'
            )
        return value

    def unused(self) -> list[str]:
        """Return the keys nobody asked for, sorted."""
        return sorted(set(self.values) - self._used)

    def _full(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name


def check_multiple(name: str, value: int, divisor_name: str, divisor: int) -> None:
    """Raise unless `value` is a multiple of `divisor`.

    Raises:
        ConfigError: It is not; the message names both keys.
    """
    if value % divisor:
        raise ConfigError(f"{name} must be a multiple of {divisor_name} ({divisor}), got {value}")


def _typed(name: str, value: Any, default: Any, minimum: int) -> Any:
    if isinstance(default, bool):
        if isinstance(value, bool):
            return value
    elif isinstance(default, int):
        if _is_integer(value):
            return _at_least(name, value, minimum)
    elif isinstance(default, float):
        if isinstance(value, float) or _is_integer(value):
            return float(value)
    elif isinstance(default, tuple):
        if isinstance(value, list | tuple) and all(map(_is_integer, value)):
            return tuple(_at_least(name, each, minimum) for each in value)
    elif isinstance(value, type(default)):
        return value
    expected = "list of integers" if isinstance(default, tuple) else type(default).__name__
    raise ConfigError(f"config key {name} must be of type {expected}, got {value!r}")


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _at_least(name: str, value: int, minimum: int) -> int:
    if value < minimum:
        raise ConfigError(f"config key {name} must be at least {minimum}, got {value}")
    return value
