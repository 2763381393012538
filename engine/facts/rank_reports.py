"""Parser of `group --show`: the reports of the agents of a replica on several nodes.

parse_rank_reports(text)[1]["state"]      # "running"
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .unreadable import MALFORMED, Unreadable


def parse_rank_reports(text: str) -> Mapping[int, Mapping[str, Any]]:
    """Return the report of each rank, by rank: `state`, `generation`, `digest` and `reason`, or `error`.

    Raises:
        Unreadable: another form, or a rank occurs twice.
    """
    try:
        rows = json.loads(text)["ranks"]
        found = {int(row["rank"]): row for row in rows}
    except (*MALFORMED, KeyError, TypeError):
        raise Unreadable("reports of ranks", text, where="group") from None
    if len(found) != len(rows):
        raise Unreadable("each rank once", text, where="group")
    return found
