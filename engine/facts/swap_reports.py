"""Parser of `swap --show`: the report of the agent of a swap group.

parse_swap_report(text)["engines"][0]["state"]      # "awake"
"""

from __future__ import annotations

import json
from typing import Any

from .unreadable import MALFORMED, Unreadable


def parse_swap_report(text: str) -> dict[str, Any]:
    """Return the report: `reason`, and `engines` with `pool`, `state` and the number `held` of waiting requests.

    Raises:
        Unreadable: another form, or the reason of the agent for the absence of a report.
    """
    try:
        found = json.loads(text)
        if isinstance(found.get("error"), str):
            raise Unreadable("a report of the agent", found["error"], where="swap")
        engines = [
            {"pool": str(row["pool"]), "state": str(row["state"]), "held": int(row["held"])} for row in found["engines"]
        ]
        return {"reason": str(found["reason"]), "engines": engines}
    except MALFORMED:
        raise Unreadable("a report of the agent", text, where="swap") from None
