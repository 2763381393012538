"""Service accounts: the users of engines, gateway, monitoring and retrieval, with the same IDs on every node.

They are resources of their own, because a node can get a pool or a gateway while none of its credentials changes.
An account that no service of a node uses stays: it cannot log in, and files may belong to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.host.accounts import accounts_command, parse_accounts
from ...facts.node import NodeFacts
from ...spec import Node
from ...spec.service_accounts import (
    ENGINE_UID,
    ENGINE_USER,
    GATEWAY_UID,
    GATEWAY_USER,
    MONITORING_UID,
    MONITORING_USER,
    RETRIEVAL_UID,
    RETRIEVAL_USER,
    SECRETS_GID,
    SECRETS_GROUP,
)
from ..context import Context
from ..resource import Desired, Risk, State
from ..resource_type import Query, ResourceType

SHELL = "/usr/sbin/nologin"
ANSWER = "service_accounts"
"""Name of the command that observes them."""


def _accounts(context: Context, node: Node) -> dict[str, tuple[int, str]]:
    """Return ID and purpose of each service account of a node, by name."""
    found = {}
    if context.replicas_on(node):
        found[ENGINE_USER] = (ENGINE_UID, "runs the engines of pools")
    if context.is_gateway(node):
        found[GATEWAY_USER] = (GATEWAY_UID, "runs the gateway")
    if context.monitoring_server is not None:
        found[MONITORING_USER] = (MONITORING_UID, "runs exporters and monitoring")
    if context.is_retrieval(node):
        found[RETRIEVAL_USER] = (RETRIEVAL_UID, "runs the retrieval service")
    return found


def _expect(context: Context, node: Node, _facts: NodeFacts | None) -> Iterator[Desired]:
    for name, (uid, why) in _accounts(context, node).items():
        yield Desired(
            kind="service_account",
            name=name,
            state={"uid": uid, "shell": SHELL, "groups": [SECRETS_GROUP], "has_password": False},
            why=why,
            variables={"uid": uid, "shell": SHELL, "group": SECRETS_GROUP, "gid": SECRETS_GID},
            risk=Risk.SERVICE,
        )


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    account = parse_accounts(facts.answer(ANSWER)).get(desired.name)
    if account is None:
        return None
    return {
        "uid": account.uid,
        "shell": account.shell,
        "groups": [group for group in account.groups if group != desired.name],
        "has_password": account.has_password,
    }


def _query(context: Context, node: Node) -> Query:
    names = list(_accounts(context, node))
    return Query(commands={ANSWER: accounts_command(names)} if names else {})


RESOURCE_TYPE = ResourceType("service_account", _expect, _observe, _query)
