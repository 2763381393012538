"""Tool calls of a server (output of the program `tool_calls`), compared with the functions that were offered.

answers = parse_tool_calls(text, modes=tuple(Mode), tools=("set_volume", "set_timer"))
for each in tool_call_faults(answers, tools=("set_volume", "set_timer"), any_tool=False): each.mode, each.fault

Arguments must be JSON by the schema of their function, the function the requested one, and no text may contain a call
that the parser of the server missed. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..unreadable import MALFORMED, Unreadable
from .tool_schemas import CASES

_WHERE = "tool calls"


class Mode(StrEnum):
    """How a request lets the model choose."""

    AUTO = "auto"
    REQUIRED = "required"
    NAMED = "named"
    NONE = "none"
    PARALLEL = "parallel"
    STREAMING = "streaming"

    @property
    def is_forced(self) -> bool:
        """Whether a grammar of the server forces the call."""
        return self in FORCED


FORCED = (Mode.REQUIRED, Mode.NAMED)
COUNT = {Mode.NONE: 0, Mode.PARALLEL: 2}
"""Number of calls; 1 in the other modes."""


class Fault(StrEnum):
    """Fault of an answer, in words for a message."""

    REFUSED = "a refusal"
    LEAKED = "a call in the text"
    NOT_JSON = "arguments that are not JSON"
    SCHEMA = "arguments outside the schema"
    NAME = "a call of another tool"
    MISSING = "no call"
    EXTRA = "further calls"


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """Answer to one task in one mode.

    Args:
        calls: name and arguments as text of each call.
        leaked: whether the text contains the beginning of a call.
        refused: status of HTTP 4xx; empty otherwise.
    """

    tool: str
    mode: Mode
    calls: tuple[tuple[str, str], ...] = ()
    leaked: bool = False
    refused: str = ""

    @classmethod
    def from_json(cls, row: Any) -> ToolAnswer:
        """Return the answer of a JSON object.

        Raises:
            ValueError: a value has another form.
        """
        name, mode = row["tool"], Mode(row["mode"])
        if name not in _SCHEMAS:
            raise ValueError("a tool")
        if "refused" in row:
            return cls(name, mode, refused=str(row["refused"]))
        calls = tuple((function, arguments) for function, arguments in row["calls"])
        if not all(isinstance(each, str) for call in calls for each in call) or not isinstance(row["leaked"], bool):
            raise ValueError("a call")
        return cls(name, mode, calls, row["leaked"])


@dataclass(frozen=True, slots=True)
class ToolFault:
    """One fault in one mode, with the tools of its tasks in order."""

    mode: Mode
    fault: Fault
    tools: tuple[str, ...]


_SCHEMAS = {each.name: each.parameters for each in CASES}


def other_tool(name: str, tools: Sequence[str]) -> str:
    """Return the second tool that a task of a tool offers: the one before it in `tools`."""
    return tools[tools.index(name) - 1]


def parse_tool_calls(text: str, *, modes: Sequence[Mode], tools: Sequence[str]) -> tuple[ToolAnswer, ...]:
    """Return the answers in order.

    Args:
        modes: that were requested.
        tools: that were requested, in order.

    Raises:
        Unreadable: a line has another form, an answer is missing or occurs twice, or a request failed.
    """
    try:
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
        if failed := next((row for row in rows if "error" in row), None):
            what = f"{failed.get('mode')} call of {failed.get('tool')}"
            raise Unreadable(f"an answer to the {what}", str(failed["error"]), where=_WHERE)
        found = tuple(map(ToolAnswer.from_json, rows))
    except MALFORMED:
        raise Unreadable("one JSON object for each tool and mode", text, where=_WHERE) from None
    wanted = {(name, mode) for name in tools for mode in modes}
    if {(each.tool, each.mode) for each in found} != wanted or len(found) != len(wanted):
        count = f"{len(found)} answers"
        raise Unreadable(f"{len(wanted)} answers, each once", count, where=_WHERE, is_description=True)
    return found


def tool_call_faults(answers: Sequence[ToolAnswer], *, tools: Sequence[str], any_tool: bool) -> Iterator[ToolFault]:
    """Yield the faults of each mode, in the order of `Mode` and `Fault`.

    Args:
        tools: that were requested, in order.
        any_tool: whether a required call may name any offered tool, for a model that does not read its task.
    """
    found: dict[tuple[Mode, Fault], list[str]] = {}
    for answer in answers:
        for fault in _faults(answer, tools, any_tool=any_tool):
            found.setdefault((answer.mode, fault), []).append(answer.tool)
    for mode in Mode:
        for fault in Fault:
            if names := found.get((mode, fault)):
                yield ToolFault(mode, fault, tuple(names))


def _faults(answer: ToolAnswer, tools: Sequence[str], *, any_tool: bool) -> set[Fault]:
    if answer.refused:
        return {Fault.REFUSED}
    found = {Fault.LEAKED} if answer.leaked else set()
    wanted = COUNT.get(answer.mode, 1)
    if len(answer.calls) != wanted:
        found.add(Fault.MISSING if len(answer.calls) < wanted else Fault.EXTRA)
    offered = (answer.tool, other_tool(answer.tool, tools))
    is_free = answer.mode is Mode.PARALLEL or (any_tool and answer.mode is Mode.REQUIRED)
    for name, arguments in answer.calls:
        if name not in (offered if is_free else offered[:1]):
            found.add(Fault.NAME)
        elif (fault := argument_fault(name, arguments)) is not None:
            found.add(fault)
    if answer.mode is Mode.PARALLEL and len({name for name, _ in answer.calls}) < min(wanted, len(answer.calls)):
        found.add(Fault.NAME)
    return found


def _no_constant(name: str) -> None:
    """Refuse `NaN` and `Infinity`, which Python reads and JSON does not have."""
    raise ValueError(name)


def argument_fault(name: str, arguments: str) -> Fault | None:
    """Return the fault of the arguments of a function; None if they are JSON by its schema."""
    from jsonschema import Draft202012Validator  # 50 ms, for this check only

    try:
        value = json.loads(arguments, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return Fault.NOT_JSON
    return None if Draft202012Validator(_SCHEMAS[name]).is_valid(value) else Fault.SCHEMA
