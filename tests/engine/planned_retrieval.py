"""The other end of `engine/resources/retrieval`: as planned, and changes by hand."""

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
from sovctl.engine.resources.retrieval import postgresql, service
from sovctl.engine.resources.retrieval.database import PROBE, UNIT_FILE
from sovctl.engine.spec import Node
from sovctl.support.canonical_json import sha256_hex


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
        "role_settings": list(state["role_settings"]),
        "members": 0,
        "unforced": None,
    }


def put(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    """The node with the database, or the service, as planned."""
    for file in desired.variables["files"]:
        facts = with_text(facts, file["path"], file["text"])
    text = render("retrieval", f"{desired.name}.service.j2", item=desired.variables)
    facts = with_text(facts, _unit_file(desired), text)
    facts = with_unit(facts, desired.variables["unit"])
    return facts if desired.name == service.NAME else with_answer(facts, PROBE, json.dumps(answer(desired)))


def _unit_file(desired: Desired) -> str:
    return service.UNIT_FILE if desired.name == service.NAME else UNIT_FILE


def handles(desired: Desired) -> Iterator[Handle]:
    """A change by hand of every key of the state."""

    def handle(key: str, change: Callable[[NodeFacts], NodeFacts]) -> Handle:
        return Handle("retrieval", desired.name, key, change)

    def answered(key: str, **changes: Any) -> Handle:
        text = json.dumps(answer(desired) | changes)
        return handle(key, lambda facts: with_answer(facts, PROBE, text))

    unit, state = desired.variables["unit"], desired.state or {}
    for file in desired.variables["files"]:
        [key] = [key for key, value in state.items() if value == sha256_hex(file["text"])]
        yield handle(key, partial(with_file, path=file["path"]))
    yield handle("unit_sha256", partial(with_file, path=_unit_file(desired)))
    yield handle("active", lambda facts: with_unit(facts, unit, active="failed"))
    yield handle("enabled", lambda facts: with_unit(facts, unit, enabled="disabled"))
    later = {"mtime_ns": (STARTED_S + 5) * 10**9}
    changed = desired.variables["files"][0]["path"]
    yield handle(
        "runs_what_is_written",
        lambda facts: replace(facts, files={**facts.files, changed: {**facts.files[changed], **later}}),
    )
    if desired.name == service.NAME:
        return
    planned = answer(desired)
    yield answered("settings", settings={**planned["settings"], "listen_addresses": "*"})
    yield answered("pgvector", extensions={"pgcrypto": "1.3", "vector": "0.5.1"})
    bypass = {**planned["roles"]["sovctl_retrieval"], "rolbypassrls": True}
    yield answered("roles", roles={**planned["roles"], "sovctl_retrieval": bypass})
    yield answered("role_settings", role_settings=None)
    yield answered("memberships", members=1)
    yield answered("tables_without_forced_rls", unforced=["chunks"])
