"""Results of other tools in a report: marked as foreign, and without effect on the state of a control. Pure.

The report has results with a problem and results with a mapped control, at most 500 of each file. The folder of
the report has all results as `foreign/<SHA-256 of the imported file>.json`, whose digest is in the ledger.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FOLDER = "foreign"
MAX_ROWS = 500  # of one file; chosen: the page stays readable
_IN_ORDER = ("pass", "not-applicable", "not-checked", "information")


@dataclass(frozen=True)
class ForeignImport:
    """One imported file of another tool, as it is in the ledger.

    Args:
        leaf: its ledger entry, at `leaf_index`.
        content: its `results.json`, compared with the ledger.
    """

    leaf_index: int
    leaf: Mapping[str, Any]
    content: bytes

    @property
    def path(self) -> str:
        """Path of the results in the folder of a report."""
        return f"{FOLDER}/{self.leaf['original_sha256']}.json"


def foreign_section(each: ForeignImport, pack: str, proof: Sequence[bytes]) -> dict[str, Any]:
    """Return the part of the report about one import.

    Args:
        pack: name of the framework; a row has the controls that the mapping names for it.
        proof: audit path of the ledger entry.
    """
    document = json.loads(each.content)
    rows = [row | {"controls": row["controls"].get(pack, [])} for row in document["results"]]
    notable = [row for row in rows if row["controls"] or row["outcome"] not in _IN_ORDER]
    return {
        **{name: document[name] for name in ("source", "imported", "operator", "mapping", "outcomes")},
        "total": len(rows),
        "rows": notable[:MAX_ROWS],
        "omitted": max(len(notable) - MAX_ROWS, 0),
        "file": each.path,
        "leaf_index": each.leaf_index,
        "leaf": dict(each.leaf),
        "proof": [base64.b64encode(value).decode() for value in proof],
    }
