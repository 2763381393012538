"""Cases of the check pool.tool-calls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from check_cases.case import FAIL, UNKNOWN, WARN, Bad, Sample, lines

from sovctl.engine.checks.definitions.pool import _replicas, tool_calls
from sovctl.engine.facts.benchmarks.tool_calls import Mode, other_tool
from sovctl.engine.facts.benchmarks.tool_schemas import CASES


def tools_of(pool: _replicas.Expected) -> tool_calls.Expected:
    """Expectation of a pool that declares tool calls."""
    return tool_calls.Expected(
        **vars(pool), model="echo", cases=CASES, modes=tuple(Mode), any_tool=False, is_declared=True, least_called=0.9
    )


def example_of(schema: dict[str, Any]) -> Any:
    """The smallest value of a schema of `tool_schemas`."""
    kind = schema["type"] if isinstance(schema["type"], str) else schema["type"][-1]
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        return {name: example_of(each) for name, each in schema["properties"].items()}
    if kind == "array":
        return [example_of(schema["items"])] * schema["minItems"]
    return {"string": "ü", "number": 1.5, "integer": schema.get("minimum"), "boolean": True, "null": None}[kind]


PARAMETERS = {each.name: each.parameters for each in CASES}
TOOLS = tuple(PARAMETERS)


def called(
    *changes: tuple[str, str, dict[str, Any]], modes: Sequence[Mode] = tuple(Mode), tools: Sequence[str] = TOOLS
) -> str:
    """Output of tool_calls.py; each change is a mode (or all), a tool (or all) and the values that differ."""
    rows = []
    for mode in modes:
        for name in tools:
            names = {"none": [], "parallel": [name, other_tool(name, tools)]}.get(mode, [name])
            calls = [[each, json.dumps(example_of(PARAMETERS[each]), ensure_ascii=False)] for each in names]
            row: dict[str, Any] = {"tool": name, "mode": mode, "calls": calls, "leaked": False, "finish": "tool_calls"}
            for wanted, tool, values in changes:
                if wanted in (mode, "all") and tool in (name, "all"):
                    row |= values
            rows.append(row)
    return lines(*rows)


def swapped(name: str, arguments: str) -> dict[str, Any]:
    return {"calls": [[name, arguments]]}


def tool_call_sample(pool: _replicas.Expected) -> Sample:
    """Good and bad answers of a pool."""

    def one(mode: str, tool: str, name: str, arguments: str) -> dict[str, str]:
        return {"calls": called((mode, tool, swapped(name, arguments)))}

    def no_call(mode: str, tool: str) -> dict[str, str]:
        return {"calls": called((mode, tool, {"calls": []}))}

    return Sample(
        tools_of(pool),
        {"calls": called()},
        {
            "cut": Bad(one("streaming", "get_time", "get_time", '{"city": "Lis'), FAIL, "not JSON"),
            "infinity": Bad(one("named", "add_numbers", "add_numbers", '{"a": Infinity, "b": 1}'), FAIL, "not JSON"),
            "schema": Bad(one("named", "set_volume", "set_volume", '{"percent": 400}'), FAIL, "outside the schema"),
            "further-key": Bad(one("auto", "get_time", "get_time", '{"city": "a", "zone": 1}'), FAIL, "outside"),
            "other-tool": Bad(one("required", "set_light", "get_time", '{"city": "a"}'), FAIL, "another tool"),
            "leaked": Bad({"calls": called(("none", "get_time", {"leaked": True}))}, FAIL, "a call in the text"),
            "called-in-none": Bad(one("none", "get_time", "get_time", '{"city": "a"}'), FAIL, "further calls"),
            "forced-without-call": Bad(no_call("named", "get_time"), FAIL, "no call in 1 of 20"),
            "refused": Bad({"calls": called(("auto", "all", {"refused": "http 400"}))}, FAIL, "refusal in 20 of 20"),
            "one-text": Bad(no_call("auto", "get_time"), WARN, "no call in 1 of 20"),
            "all-texts": Bad(no_call("streaming", "all"), FAIL, "at least 90%"),
            "no-parallel": Bad(no_call("parallel", "all"), WARN, "no call in 20 of 20"),
            "closed": Bad({"calls": called(("auto", "get_time", {"error": "Refused"}))}, UNKNOWN, "Refused"),
            "fewer": Bad({"calls": called(modes=tuple(Mode)[:5])}, UNKNOWN, "120 answers"),
            "garbled": Bad({"calls": "vllm: command not found"}, UNKNOWN, "one JSON object"),
        },
    )
