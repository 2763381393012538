"""Results of other tools as OSCAL observations of the assessment results. Pure.

The origin of such an observation is the other tool, and its type is `foreign-result`. No finding refers to it, because
foreign results decide no control.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .metadata import file_resource
from .names import FOREIGN_RESULT, line, prop, uuid_of
from .references import Document, scope


def foreign_components(document: Document) -> list[dict[str, Any]]:
    """Return the other tools as components, sorted by name and version."""
    tools = sorted({_tool(each) for each in document.get("foreign", ())})
    return [
        {
            "uuid": uuid_of("foreign-tool", *tool),
            "type": "software",
            "title": line(tool[0]),
            "description": "Tool whose results were imported; not part of sovctl.",
            "props": [{"name": "version", "value": line(tool[1])}],
            "status": {"state": "other"},
        }
        for tool in tools
    ]


def foreign_observations(document: Document) -> Iterator[dict[str, Any]]:
    """Yield one observation of each imported file."""
    for each in document.get("foreign", ()):
        source = each["source"]
        mapped = sorted({control for row in each["rows"] for control in row["controls"]})
        yield {
            "uuid": uuid_of("foreign-observation", *scope(document), document["run"]["id"], source["sha256"]),
            "title": line(f"FOREIGN: results of {source['tool']} {source['tool_version']}"),
            "description": line(
                f"{each['total']} results of another tool, imported from {source['file']}. They decide no control."
            ),
            "props": [
                prop("foreign", value=True),
                prop("foreign-file-sha256", source["sha256"]),
                prop("ledger-index", each["leaf_index"]),
                *(prop(f"outcome-{outcome}", number) for outcome, number in sorted(each["outcomes"].items())),
                *(prop("mapped-control", control) for control in mapped),
            ],
            "methods": ["EXAMINE"],
            "types": [FOREIGN_RESULT],
            "origins": [{"actors": [{"type": "tool", "actor-uuid": uuid_of("foreign-tool", *_tool(each))}]}],
            "relevant-evidence": [
                {"href": f"#{_resource_uuid(each)}", "description": "All results of the file, as sovctl read them."}
            ],
            "collected": each["imported"],
        }


def foreign_resources(document: Document) -> Iterator[dict[str, Any]]:
    """Yield the files with all results as resources."""
    for each in document.get("foreign", ()):
        digest = each["leaf"]["results_sha256"]
        yield file_resource(
            _resource_uuid(each), "Results of another tool", f"../{each['file']}", digest, "application/json"
        )


def _tool(each: Mapping[str, Any]) -> tuple[str, str]:
    return each["source"]["tool"], each["source"]["tool_version"]


def _resource_uuid(each: Mapping[str, Any]) -> str:
    return uuid_of("foreign-results", each["leaf"]["results_sha256"])
