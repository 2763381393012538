"""JSON schemas in a request: of the answer, and of the arguments of strict tools.

asked = asked_schemas(body)
asked.answer           # of response_format, text.format, structured_outputs, guided_json, output_format; or None
asked.tools["send"]    # of a tool with strict: true
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class AskedSchemas:
    """Schemas that the answer has to satisfy."""

    answer: Any = None
    tools: Mapping[str, Any] = field(default_factory=dict)


def asked_schemas(body: Mapping[str, Any]) -> AskedSchemas:
    """Return the schemas in a request of any surface."""
    return AskedSchemas(_of_answer(body), dict(_of_tools(body)))


def _of_answer(body: Mapping[str, Any]) -> Any:
    formats = [
        body.get("response_format"),  # chat completions
        _at(body, "text", "format"),  # responses
        body.get("output_format"),  # messages
        _at(body, "output_config", "format"),  # messages
    ]
    for asked in formats:
        if isinstance(asked, Mapping) and asked.get("type") == "json_schema":
            inner = asked.get("json_schema")
            return (inner if isinstance(inner, Mapping) else asked).get("schema", {})
    # vLLM's own parameters (docs of 0.32, "Structured Outputs", read 2026-11).
    schema = _at(body, "structured_outputs", "json")
    return schema if schema is not None else body.get("guided_json")


def _of_tools(body: Mapping[str, Any]) -> list[tuple[str, Any]]:
    tools = body.get("tools")
    found = []
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, Mapping):
            continue
        inner = tool.get("function")
        fields = inner if isinstance(inner, Mapping) else tool
        if fields.get("strict") is True and isinstance(fields.get("name"), str):
            found.append((fields["name"], fields.get("parameters", fields.get("input_schema", {}))))
    return found


def _at(body: Mapping[str, Any], *path: str) -> Any:
    value: Any = body
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
