# SPDX-License-Identifier: BSD-2-Clause
"""The agent's protocol as the runner checks it: docs/protocol.schema.json, line by line."""

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonschema_rs import Draft202012Validator as FastValidator

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

VERSION = 1
LINE_LIMIT = 1 << 20

Message = dict[str, Any]
Kind = tuple[str, ...]

_DECODER = json.JSONDecoder()
_SCHEMA = Path(__file__).resolve().parents[3] / "docs/protocol.schema.json"
_SHOWN = 80


class ProtocolError(Exception):
    """A line that is no message of an agent."""


def check(line: bytes) -> Message:
    """The message in `line`; raises ProtocolError when it is none that an agent may send."""
    try:
        message = _DECODER.decode(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a line that is no JSON: {_shown(line)}") from error
    if not isinstance(message, dict):
        raise ProtocolError(f"a line that is no object: {_shown(line)}")
    try:
        valid = _fast().is_valid(message)
    except UnicodeEncodeError as error:
        raise ProtocolError(f"a name that is no Unicode: {_shown(line)}") from error
    if not valid:
        raise ProtocolError(f"{_why(message)}: {_shown(line)}")
    return message


def prepare() -> None:
    """Read the schema now rather than with the first line."""
    _fast()


@cache
def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(_SCHEMA.read_text(encoding="utf-8"))
    return schema


@cache
def _fast() -> FastValidator:
    """What judges every line, in microseconds; its words for what is wrong are not as good."""
    return FastValidator({"$defs": _schema()["$defs"], "$ref": "#/$defs/from_agent"})


def _why(message: Message) -> str:
    """What is wrong with a message that is not valid."""
    # Only what is wrong needs this library, which takes longest of all to load.
    from jsonschema.exceptions import best_match

    validator = _validators().get(_kind(message))
    if validator is None:
        return "a line of an unknown kind"
    why = best_match(validator.iter_errors(message))
    return why.message[:_SHOWN] if why else "wrong"


@cache
def _validators() -> dict[Kind, "Validator"]:
    """A validator for each kind of line, so that an error names that kind's rules."""
    from jsonschema import Draft202012Validator

    schema = _schema()
    whole = Draft202012Validator(schema)
    made: dict[Kind, Validator] = {}
    for alternative in _alternatives(schema["$defs"]["from_agent"]):
        name = alternative["$ref"].rpartition("/")[2]
        properties = schema["$defs"][name]["properties"]
        constants = {
            member: rule["const"] for member, rule in properties.items() if "const" in rule
        }
        made[_kind(constants)] = whole.evolve(schema=alternative)
    return made


def _alternatives(rule: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rule.get("oneOf") or rule["anyOf"]
    return found


def _kind(message: dict[str, Any]) -> Kind:
    """What tells the kinds of lines apart."""
    members = ("type", "kind", "from", "unfinished")
    return tuple(str(message.get(member)) for member in members)


def _shown(line: bytes) -> str:
    text = line[:_SHOWN].decode(errors="backslashreplace")
    return text + (" ..." if len(line) > _SHOWN else "")
