# SPDX-License-Identifier: BSD-2-Clause
"""Files that a person names: TOML and JSON as they may come, refused with a sentence."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from results.errors import InputError
from runners.bounded import read_bytes

# Whole numbers of 64 bits; floating ones have room for them.
MOST = 1 << 63


def read_toml(path: Path, called: str) -> dict[str, Any]:
    """What is in the TOML file `path`, which is a person's `called`. Raises InputError."""
    table: dict[str, Any] = _read(path, called, "TOML", tomllib.loads)
    return table


def read_json(path: Path, called: str) -> dict[str, Any]:
    """The object in the JSON file `path`, which is a person's `called`. Raises InputError."""
    value = _read(path, called, "JSON", json.loads)
    if not isinstance(value, dict):
        raise InputError(f"{path} is no JSON object")
    return value


def _read(path: Path, called: str, form: str, loads: Callable[[str], Any]) -> Any:
    try:
        value = loads(read_bytes(path).decode())
        _tame(value)
    except OSError as error:
        raise InputError(f"cannot read {called} {path}: {error.strerror}") from error
    except RecursionError as error:
        raise InputError(f"{path} is nested too deeply") from error
    except ValueError as error:
        raise InputError(f"{path} is no {form}: {error}") from error
    return value


def _tame(value: Any) -> None:
    """Raise ValueError where a value is one that no reader of ours has a use for."""
    if isinstance(value, str) and "\0" in value:
        raise ValueError(f"{value[:40]!r} has a NUL in it")
    if isinstance(value, (int, float)) and not -MOST <= value < MOST:
        raise ValueError("a number is too large")
    for item in value.values() if isinstance(value, dict) else ():
        _tame(item)
    for item in value if isinstance(value, list) else ():
        _tame(item)
    for key in value if isinstance(value, dict) else ():
        _tame(key)
