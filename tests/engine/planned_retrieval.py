"""The other end of `engine/resources/retrieval`: the database as planned, and changes by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from node_edits import STARTED_S, Handle, with_answer, with_file, with_text, with_unit

from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.resources.context import render
from sovctl.engine.resources.resource import Desired
from sovctl.engine.resources.retrieval import postgresql
from sovctl.engine.resources.retrieval.database import PROBE, UNIT_FILE
from sovctl.engine.spec import Node


def answer(desired: Desired) -> dict[str, Any]:
    """What PostgreSQL answers if it is as planned."""
    state = desired.state or {}
    return {
        "settings": dict(state["settings"]),
        "extensions": {"pgcrypto": "1.3", "vector": state["pgvector"]},
        "roles": {
            name: {each: each in attributes for each in postgresql.ATTRIBUTES}
            for name, attributes in state["roles"].items()
        },
        "members": 0,
        "unforced": None,
    }


def put(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    """The node with the database as planned."""
    for file in desired.variables["files"]:
        facts = with_text(facts, file["path"], file["text"])
    facts = with_text(facts, UNIT_FILE, render("retrieval", "database.service.j2", item=desired.variables))
    return with_answer(with_unit(facts, desired.variables["unit"]), PROBE, json.dumps(answer(desired)))


def handles(desired: Desired) -> Iterator[Handle]:
    """A change by hand of every key of the state."""

    def handle(key: str, change: Callable[[NodeFacts], NodeFacts]) -> Handle:
        return Handle("retrieval", desired.name, key, change)

    def answered(key: str, **changes: Any) -> Handle:
        text = json.dumps(answer(desired) | changes)
        return handle(key, lambda facts: with_answer(facts, PROBE, text))

    unit, planned = desired.variables["unit"], answer(desired)
    keys = {
        "config_sha256": postgresql.CONFIG,
        "hba_sha256": postgresql.HBA,
        "ident_sha256": postgresql.IDENT,
        "unit_sha256": UNIT_FILE,
    }
    for key, path in keys.items():
        yield handle(key, partial(with_file, path=path))
    yield handle("active", lambda facts: with_unit(facts, unit, active="failed"))
    yield handle("enabled", lambda facts: with_unit(facts, unit, enabled="disabled"))
    later = {"mtime_ns": (STARTED_S + 5) * 10**9}
    changed = postgresql.HBA
    yield handle(
        "runs_what_is_written",
        lambda facts: replace(facts, files={**facts.files, changed: {**facts.files[changed], **later}}),
    )
    yield answered("settings", settings={**planned["settings"], "listen_addresses": "*"})
    yield answered("pgvector", extensions={"pgcrypto": "1.3", "vector": "0.5.1"})
    bypass = {**planned["roles"]["sovctl_retrieval"], "rolbypassrls": True}
    yield answered("roles", roles={**planned["roles"], "sovctl_retrieval": bypass})
    yield answered("memberships", members=1)
    yield answered("tables_without_forced_rls", unforced=["chunks"])
