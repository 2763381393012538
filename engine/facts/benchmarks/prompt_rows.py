"""Rows of the probes that send prompts to a server: its version, then one JSON object for each prompt, in order."""

from __future__ import annotations

import json
from typing import Any

from ..unreadable import Unreadable


def prompt_rows(text: str, *, where: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the server's version and the row of each prompt.

    Args:
        where: name of the probe.

    Raises:
        Unreadable: a prompt is missing, or a request failed.
        ValueError, KeyError, TypeError, AttributeError, RecursionError: a line has another form (`MALFORMED`).
    """
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    if failed := next((row for row in rows if "error" in row), None):
        asked = failed.get("path") or f"prompt {failed.get('prompt')}"
        raise Unreadable(f"an answer of {asked}", str(failed["error"]), where=where)
    head, *answers = rows
    if head["path"] != "/version" or [row["prompt"] for row in answers] != list(range(len(answers))) or not answers:
        raise Unreadable("a version and every prompt once", text, where=where)
    version = head["version"]
    if not isinstance(version, str) or not version:
        raise ValueError("a version")
    return version, answers
