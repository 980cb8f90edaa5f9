"""Typed reading of one JSON object of settings, with a memory of what was asked for.

A configuration written by others is read key by key: a value of the wrong type must be reported by
its full name, and a setting that no code asked for must not vanish.
"""

import math
import reprlib
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")

_LARGEST = 2**31 - 1
"""No size comes near it, and PyTorch's arithmetic on shapes has room above it."""

_SHOWN_LETTERS = 80


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
                f"config key {path} must be a JSON object, got {_shown(values)}; "
                "correct config.json"
            )
        self.values = dict(values)
        self._path = path
        self._used: set[str] = set()

    def get(
        self,
        names: str | tuple[str, ...],
        default: T,
        minimum: int = 1,
        is_positive: bool = False,
    ) -> T:
        """Return the first of `names` that is present and not null, else `default`.

        Args:
            names: A key, or aliases of one setting.
            default: Used when no key is present; its type is the type that a value must have. An
                integer is accepted for a float. Lists become tuples of integers.
            minimum: Least integer accepted, also inside lists.
            is_positive: Whether floats must be above 0; they are finite in any case.

        Raises:
            ConfigError: The value has another type, is too small or too large.
        """
        for name in (names,) if isinstance(names, str) else names:
            if name in self.values:
                self._used.add(name)
                if self.values[name] is not None:
                    return _typed(
                        self._full(name), self.values[name], default, minimum, is_positive
                    )
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

    def words(self, name: str, choices: tuple[str, ...]) -> list[str] | None:
        """Return the list of words under `name`, each one of `choices`; None without it.

        Raises:
            ConfigError: The value is no list, or holds something else.
        """
        self._used.add(name)
        value = self.values.get(name)
        if value is None or (isinstance(value, list) and all(each in choices for each in value)):
            return value
        raise ConfigError(
            f"config key {self._full(name)} must be a list of {' or '.join(choices)}, "
            f"got {_shown(value)}"
        )

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


def _typed(name: str, value: Any, default: Any, minimum: int, is_positive: bool) -> Any:
    if isinstance(default, bool):
        if isinstance(value, bool):
            return value
    elif isinstance(default, int):
        if _is_integer(value):
            return _in_range(name, value, minimum)
    elif isinstance(default, float):
        if isinstance(value, float) or _is_integer(value):
            return _finite(name, value, is_positive)
    elif isinstance(default, tuple):
        if isinstance(value, list | tuple) and all(map(_is_integer, value)):
            return tuple(_in_range(name, each, minimum) for each in value)
    elif isinstance(value, type(default)):
        return value
    expected = "list of integers" if isinstance(default, tuple) else type(default).__name__
    raise ConfigError(f"config key {name} must be of type {expected}, got {_shown(value)}")


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _in_range(name: str, value: int, minimum: int) -> int:
    if value < minimum:
        raise ConfigError(f"config key {name} must be at least {minimum}, got {_shown(value)}")
    if value > _LARGEST:
        raise ConfigError(f"config key {name} must be at most {_LARGEST}, got {_shown(value)}")
    return value


def _finite(name: str, value: float, is_positive: bool) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or (is_positive and number <= 0):
        allowed = "a finite number above 0" if is_positive else "a finite number"
        raise ConfigError(f"config key {name} must be {allowed}, got {_shown(value)}")
    return number


def _shown(value: object) -> str:
    """Return a value as a message can hold it, however long or deep it is."""
    text = reprlib.repr(value)
    return text if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]}..."
