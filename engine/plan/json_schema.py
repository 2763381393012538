"""JSON schema of a plan, as `sovctl plan --json` prints it.

python -m sovctl.engine.plan.json_schema docs/plan.schema.json      # writes the file; a test compares it
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from sovctl.support.atomic_files import write_atomic

from .file import FORMAT, Plan


def schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of the plan document. Unknown keys are errors."""
    made = TypeAdapter(Plan).json_schema(mode="serialization")
    text = {"type": "string"}
    made["properties"] |= {"format": {"const": FORMAT}, "sha256": {**text, "pattern": "^[0-9a-f]{64}$"}}
    for name in ("Change", "Unmanaged"):
        made["$defs"][name]["properties"]["id"] = {**text, "description": "`node/kind/name`, unique in a plan."}
    for part in (made, *made["$defs"].values()):
        if "properties" in part:
            part |= {"required": sorted(part["properties"]), "additionalProperties": False}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Plan of sovctl", **made}


def text() -> str:
    """Return the schema as text."""
    return json.dumps(schema(), indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    write_atomic(Path(sys.argv[1]), text())
