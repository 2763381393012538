"""Answers of Prometheus, as the program `prometheus_client` prints them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ....facts.unreadable import MALFORMED, Unreadable
from ....resources.monitoring.places import PROMETHEUS_PORT
from ...probes.commands import python_command


def command(what: str) -> str:
    """Return the command that prints the `targets` or the `rules` of Prometheus, one JSON line for each."""
    return python_command("prometheus_client", what, str(PROMETHEUS_PORT))


def parse_rows(text: str) -> tuple[Mapping[str, Any], ...]:
    """Parse the lines of the program.

    Raises:
        Unreadable: a line is not a JSON object; Prometheus did not answer.
    """
    try:
        rows = tuple(json.loads(line) for line in text.splitlines())
        if not rows or not all(isinstance(row, dict) for row in rows):
            raise ValueError("no rows")
    except MALFORMED:
        raise Unreadable("one JSON line for each target or rule", text, where="prometheus_client") from None
    return rows
