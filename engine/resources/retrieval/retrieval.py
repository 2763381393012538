"""Resource type `retrieval`: the database and, before it, the service, on the node of `retrieval.node`."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.node import NodeFacts
from ...spec import Node
from ..context import Context
from ..orphan import orphan
from ..resource import Desired, Risk, State
from ..resource_type import Query, ResourceType
from . import database, postgresql, service
from .places import DATABASE_UNIT


def _expect(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    retrieval = context.spec.retrieval
    if retrieval is None or not context.is_retrieval(node):
        for name, paths in ((service.NAME, service.FILES), (database.NAME, database.FILES)):
            if facts and (files := [path for path in paths if path in facts.files]):
                why = "site.yaml has no retrieval on this node; the data of the database stay"
                yield orphan(database.KIND, name, files, why=why, risk=Risk.SERVICE)
        return
    if (found := database.desired(retrieval, facts)) is not None:
        yield found
        yield service.desired(context)


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    if desired.name == service.NAME:
        return service.observe(facts, desired)
    return database.observe(facts, desired)


def _query(context: Context, node: Node) -> Query:
    if not context.is_retrieval(node):
        return Query(hash=(*service.FILES, *database.FILES))
    return Query(
        hash=(*service.INPUTS, service.RAG, *database.FILES, database.ROLES_FILE, database.PACKAGE_LISTS),
        units=(service.UNIT, DATABASE_UNIT),
        commands={database.PROBE: postgresql.COMMAND},
    )


RESOURCE_TYPE = ResourceType(database.KIND, _expect, _observe, _query)
