"""A capture with a value of another type or range is an error that names node and field."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from test_node_facts import CAPTURE

from sovctl.engine.facts.node import parse_node
from sovctl.support.errors import SovctlError


@pytest.mark.parametrize(
    ("place", "value", "field"),
    [
        (("commands", "holds", "stdout"), None, "commands.holds.stdout"),
        (("commands", "holds", "stdout"), 7, "commands.holds.stdout"),
        (("commands", "holds", "stderr"), [], "commands.holds.stderr"),
        (("commands", "holds", "exit_code"), 10**400, "commands.holds.exit_code"),
        (("commands", "holds", "exit_code"), True, "commands.holds.exit_code"),
        (("commands", "holds"), None, "commands.holds"),
        (("files",), {"/a": {"mtime_ns": 10**400}}, "files./a.mtime_ns"),
        (("files",), {"/a": {"size": 1e300}}, "files./a.size"),
        (("files",), {"/a": {"size": float("inf")}}, "files./a.size"),
        (("texts",), {"/a": 10**400}, "texts./a"),
        (("captured",), "2026-11-21T09:00:00+02:00", "captured"),
        (("captured",), "2026-11-21T09:00:00", "captured"),
        (("captured",), "0001-01-01T00:00:00Z", "captured"),
        (("captured",), 10**400, "captured"),
    ],
)
def test_a_value_of_another_form_is_named_with_its_node(place: tuple[str, ...], value: Any, field: str) -> None:
    capture = copy.deepcopy(CAPTURE)
    part = capture
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    with pytest.raises(SovctlError, match="the capture has an unknown format: expected") as caught:
        parse_node(capture)
    assert caught.value.where == f"node n1: {field}"
    assert len(caught.value.message) < 200
