"""Certificates and secrets on nodes: shown as fingerprints, compared by digest, never printed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sovctl.compliance.canonical import sha256_hex
from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.plan.context import SECRETS_GID, Context
from sovctl.engine.plan.kinds.kind import Kind, Look
from sovctl.engine.plan.resource import Desired, Risk, State
from sovctl.engine.spec import Node

TLS = "/etc/sovctl/tls"
SECRETS = "/etc/sovctl/secrets"


@dataclass(frozen=True)
class Credential:
    """One file: where it lies on the node, and what it is for."""

    file: str
    path: str
    why: str


CERTIFICATES = (
    Credential("ca.pem", f"{TLS}/ca.pem", "the site's own authority: who may speak to whom"),
    Credential("node.pem", f"{TLS}/node.pem", "proves this node to others"),
    Credential("node.key", f"{TLS}/node.key", "key of node.pem"),
)
GATEWAY_SECRETS = (
    Credential("gateway-clients.json", f"{SECRETS}/gateway-clients.json", "who may call; keys only hashed"),
    Credential("token.key", f"{SECRETS}/token.key", "keys the tokens that leave"),
    Credential("vault.kek", f"{SECRETS}/vault.kek", "wraps the vault's conversation keys"),
    Credential("gateway-ledger.key", f"{SECRETS}/gateway-ledger.key", "signs the gateway's audit log"),
)


def cloud_files(context: Context) -> list[Credential]:
    """Credentials towards clouds."""
    found = []
    for cloud in context.gateway.clouds:
        if cloud.api_key:
            name = f"cloud-{cloud.name}.key"
            found.append(Credential(name, f"{SECRETS}/{name}", f"our key at cloud {cloud.name}"))
        if cloud.ca_file:
            name = f"cloud-{cloud.name}-ca.pem"
            found.append(Credential(name, f"{TLS}/{name}", f"the authority of cloud {cloud.name}"))
    return found


def credentials_on(context: Context, node: Node) -> list[Credential]:
    """Every credential a node holds."""
    if context.is_gateway(node):
        return [*CERTIFICATES, *GATEWAY_SECRETS, *cloud_files(context)]
    return list(CERTIFICATES) if context.replicas_on(node) else []


def fingerprint(sha256: str) -> str:
    """Short name of a content digest for plans and screens; says nothing of a random secret."""
    return "fp-" + sha256_hex(f"sovctl credential {sha256}")[:16]


def _expect(context: Context, node: Node, _facts: NodeFacts | None) -> Iterator[Desired]:
    for credential in credentials_on(context, node):
        yield Desired(
            kind="credential",
            name=credential.file,
            state={"fingerprint": context.fingerprint(node, credential.file), "mode": "0640"},
            why=credential.why,
            variables={"path": credential.path, "gid": SECRETS_GID},
            risk=Risk.SERVICE,
        )


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    entry = facts.files.get(desired.variables["path"], {})
    if "sha256" not in entry:
        return None
    return {"fingerprint": fingerprint(entry["sha256"]), "mode": entry["mode"]}


KIND = Kind("credential", _expect, _observe, lambda _context, _node: Look(hash=(f"{TLS}/*", f"{SECRETS}/*")))
