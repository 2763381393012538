"""Certificates and secrets on nodes: shown as fingerprints, compared by digest, never printed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sovctl.compliance.canonical import sha256_hex
from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.plan.context import ENGINE_UID, ENGINE_USER, GATEWAY_UID, GATEWAY_USER, SECRETS_GID, Context
from sovctl.engine.plan.kinds.kind import Kind, Look
from sovctl.engine.plan.resource import Desired, Risk, State
from sovctl.engine.spec import Node

TLS = "/etc/sovctl/tls"
SECRETS = "/etc/sovctl/secrets"


@dataclass(frozen=True)
class Credential:
    """One file: where it lies on the node, what it is for, and who may read it.

    Args:
        is_gateways: only the gateway's user reads it (0600); else the services' group (0640).
    """

    file: str
    path: str
    why: str
    is_gateways: bool = False

    @property
    def mode(self) -> str:
        """Permission bits on the node."""
        return "0600" if self.is_gateways else "0640"


CERTIFICATES = (
    Credential("ca.pem", f"{TLS}/ca.pem", "the site's own authority: who may speak to whom"),
    Credential("node.pem", f"{TLS}/node.pem", "proves this node to others"),
    Credential("node.key", f"{TLS}/node.key", "key of node.pem"),
)
GATEWAY_SECRETS = (
    Credential("gateway-clients.json", f"{SECRETS}/gateway-clients.json", "who may call; keys only hashed", True),
    Credential("token.key", f"{SECRETS}/token.key", "keys the tokens that leave", True),
    Credential("vault.kek", f"{SECRETS}/vault.kek", "wraps the vault's conversation keys", True),
    Credential("gateway-ledger.key", f"{SECRETS}/gateway-ledger.key", "signs the gateway's audit log", True),
)


def cloud_files(context: Context) -> list[Credential]:
    """Credentials towards clouds."""
    found = []
    for cloud in context.gateway.clouds:
        if cloud.api_key:
            name = f"cloud-{cloud.name}.key"
            found.append(Credential(name, f"{SECRETS}/{name}", f"our key at cloud {cloud.name}", True))
        if cloud.ca_file:
            name = f"cloud-{cloud.name}-ca.pem"
            found.append(Credential(name, f"{TLS}/{name}", f"the authority of cloud {cloud.name}"))
    return found


def credentials_on(context: Context, node: Node) -> list[Credential]:
    """Every credential a node holds."""
    if context.is_gateway(node):
        return [*CERTIFICATES, *GATEWAY_SECRETS, *cloud_files(context)]
    return list(CERTIFICATES) if context.replicas_on(node) else []


def _users(context: Context, node: Node) -> list[dict[str, object]]:
    users: list[dict[str, object]] = []
    if context.replicas_on(node):
        users.append({"name": ENGINE_USER, "uid": ENGINE_UID})
    if context.is_gateway(node):
        users.append({"name": GATEWAY_USER, "uid": GATEWAY_UID})
    return users


def fingerprint(sha256: str) -> str:
    """Short name of a content digest for plans and screens; says nothing of a random secret."""
    return "fp-" + sha256_hex(f"sovctl credential {sha256}")[:16]


def _expect(context: Context, node: Node, _facts: NodeFacts | None) -> Iterator[Desired]:
    for credential in credentials_on(context, node):
        yield Desired(
            kind="credential",
            name=credential.file,
            state={"fingerprint": context.fingerprint(node, credential.file), "mode": credential.mode},
            why=credential.why,
            variables={
                "path": credential.path,
                "mode": credential.mode,
                "owner": GATEWAY_USER if credential.is_gateways else "root",
                "gid": SECRETS_GID,
                "users": _users(context, node),
            },
            risk=Risk.SERVICE,
        )


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    entry = facts.files.get(desired.variables["path"], {})
    if "sha256" not in entry:
        return None
    return {"fingerprint": fingerprint(entry["sha256"]), "mode": entry["mode"]}


KIND = Kind("credential", _expect, _observe, lambda _context, _node: Look(hash=(f"{TLS}/*", f"{SECRETS}/*")))
