"""Certificates and secrets on nodes. Plans contain their fingerprints, never their contents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sovctl.support.canonical_json import sha256_hex

from ..facts.node import NodeFacts
from ..spec import Node
from ..spec.gateway.vault import Kek
from ..spec.retrieval import ADMINISTRATOR
from ..spec.service_accounts import (
    GATEWAY_UID,
    GATEWAY_USER,
    MONITORING_UID,
    MONITORING_USER,
    RETRIEVAL_UID,
    RETRIEVAL_USER,
    SECRETS_GID,
)
from .context import Context
from .orphan import orphan
from .resource import Desired, Risk, State
from .resource_type import Query, ResourceType

TLS = "/etc/sovctl/tls"
SECRETS = "/etc/sovctl/secrets"
SIEM_CA = "/etc/ssl/sovctl-siem-ca.pem"
"""Certificate authority of the SIEM. rsyslog of Ubuntu runs as a user that cannot read the folder `TLS`."""
ROOT = "root"
_UIDS = {ROOT: 0, GATEWAY_USER: GATEWAY_UID, MONITORING_USER: MONITORING_UID, RETRIEVAL_USER: RETRIEVAL_UID}


@dataclass(frozen=True)
class Credential:
    """A file with a certificate or a secret.

    Args:
        file: name in the state folder of the controller.
        path: on the node.
        why: its purpose, for the reader of a plan.
        owner: root, and the group of all services can read it (0640) unless `is_for_root_only`; another user, and only
            that one can (0600).
    """

    file: str
    path: str
    why: str
    owner: str = ROOT
    is_public: bool = False
    """Whether all users can read it (0644): a certificate for a program that is not sovctl's."""
    is_for_root_only: bool = False
    """Whether services of its node cannot read it (0600): a key of administrators."""

    @property
    def mode(self) -> str:
        """Permission bits of the file on the node."""
        if self.is_public:
            return "0644"
        return "0640" if self.owner == ROOT and not self.is_for_root_only else "0600"

    @property
    def uid(self) -> int:
        """User ID of the owner on the node."""
        return _UIDS[self.owner]


CERTIFICATES = (
    Credential("ca.pem", f"{TLS}/ca.pem", "the site's certificate authority, for mutual TLS"),
    Credential("node.pem", f"{TLS}/node.pem", "certificate of this node"),
    Credential("node.key", f"{TLS}/node.key", "private key of node.pem"),
)
ADMINISTRATOR_FILES = (f"{ADMINISTRATOR}.pem", f"{ADMINISTRATOR}.key")
"""Certificate that may write documents of retrieval, and its key."""
CLAIM_KEY, JWKS = "retrieval-claim.key", "principal.jwks.json"
MONITORING_KEY = "monitoring-gateway.key"
GATEWAY_SECRETS = (
    Credential(
        "gateway-clients.json",
        f"{SECRETS}/gateway-clients.json",
        "clients of the gateway, with hashed keys",
        GATEWAY_USER,
    ),
    Credential("gateway-ledger.key", f"{SECRETS}/gateway-ledger.key", "signs the gateway's audit log", GATEWAY_USER),
)


def token_key_file(version: int) -> str:
    """Return the name of the file with a version of the token key."""
    return "token.key" if version == 1 else f"token-{version}.key"


def kek_file(kek: Kek) -> str:
    """Return the name of the file with a KEK, or with the PIN of the hardware token that holds it."""
    if kek.pkcs11 is not None:
        return f"vault-{kek.version}.pin"
    return "vault.kek" if kek.version == 1 else f"vault-{kek.version}.kek"


def proxy_password_file(cloud: str) -> str:
    """Return the name of the file with the password for the proxy of a cloud."""
    return f"proxy-{cloud}.password"


def proxy_ca_file(cloud: str) -> str:
    """Return the name of the file with the certificate authority of the proxy of a cloud."""
    return f"proxy-{cloud}-ca.pem"


def receiver_secret_file(receiver: str) -> str:
    """Return the name of the file with the token or password for a receiver of alerts."""
    return f"receiver-{receiver}.secret"


def receiver_ca_file(receiver: str) -> str:
    """Return the name of the file with the certificate authority of a receiver of alerts."""
    return f"receiver-{receiver}-ca.pem"


def key_files(context: Context) -> list[Credential]:
    """Return the keys of tokens and vault, and the credentials of the vault's database."""
    names = {
        token_key_file(key.version): "key of the tokens in outgoing requests" for key in context.gateway.token_keys
    }
    for kek in context.gateway.vault.kek:
        names[kek_file(kek)] = "PIN of the hardware token" if kek.pkcs11 else "wraps the vault's keys"
    made = [Credential(name, f"{SECRETS}/{name}", why, GATEWAY_USER) for name, why in names.items()]
    if database := context.gateway.vault.postgresql:
        made.append(
            Credential("vault.password", f"{SECRETS}/vault.password", "password of the vault's database", GATEWAY_USER)
        )
        if database.ca_file:
            made.append(
                Credential("vault-ca.pem", f"{TLS}/vault-ca.pem", "certificate authority of the vault's database")
            )
    return made


def cloud_credentials_file(cloud: str) -> str:
    """Return the name of the file with the keys of AWS, or of a service account, for a cloud."""
    return f"cloud-{cloud}.credentials"


def token_ca_file(cloud: str) -> str:
    """Return the name of the file with the certificate authority of a cloud's token endpoint."""
    return f"token-{cloud}-ca.pem"


def cloud_files(context: Context) -> list[Credential]:
    """Return the API keys and certificate authorities of clouds."""
    found = []
    for cloud in context.gateway.clouds:
        if cloud.api_key:
            name = f"cloud-{cloud.name}.key"
            found.append(Credential(name, f"{SECRETS}/{name}", f"API key of cloud {cloud.name}", GATEWAY_USER))
        if cloud.ca_file:
            name = f"cloud-{cloud.name}-ca.pem"
            found.append(Credential(name, f"{TLS}/{name}", f"certificate authority of cloud {cloud.name}"))
        if cloud.credentials is not None:
            name = cloud_credentials_file(cloud.name)
            found.append(Credential(name, f"{SECRETS}/{name}", f"keys of cloud {cloud.name}", GATEWAY_USER))
        if cloud.vertex is not None and cloud.vertex.token_ca_file:
            name = token_ca_file(cloud.name)
            found.append(
                Credential(name, f"{TLS}/{name}", f"certificate authority of the token endpoint of {cloud.name}")
            )
        if cloud.proxy and cloud.proxy.password:
            name = proxy_password_file(cloud.name)
            found.append(
                Credential(name, f"{SECRETS}/{name}", f"password for the proxy of cloud {cloud.name}", GATEWAY_USER)
            )
        if cloud.proxy and cloud.proxy.ca_file:
            name = proxy_ca_file(cloud.name)
            found.append(Credential(name, f"{TLS}/{name}", f"certificate authority of the proxy of cloud {cloud.name}"))
    return found


def access_files(context: Context) -> list[Credential]:
    """Return the credentials that authenticate callers, webhooks and collectors, and the key of principal tokens."""
    gateway, found = context.gateway, []
    if gateway.client_ca_file:
        found.append(Credential("clients-ca.pem", f"{TLS}/clients-ca.pem", "certificate authority of clients"))
    for provider in gateway.identity_providers:
        if provider.jwks_file:
            name = f"oidc-{provider.name}.jwks.json"
            found.append(Credential(name, f"{TLS}/{name}", f"keys of identity provider {provider.name}"))
        if provider.ca_file:
            name = f"oidc-{provider.name}-ca.pem"
            found.append(
                Credential(name, f"{TLS}/{name}", f"certificate authority of identity provider {provider.name}")
            )
    if gateway.handoff is not None and gateway.handoff.webhook is not None:
        name = "handoff-webhook.key"
        found.append(Credential(name, f"{SECRETS}/{name}", "signs messages to the webhook of hand-offs", GATEWAY_USER))
        if gateway.handoff.webhook.ca_file:
            name = "handoff-webhook-ca.pem"
            found.append(Credential(name, f"{TLS}/{name}", "certificate authority of the webhook of hand-offs"))
    if gateway.tracing is not None and gateway.tracing.ca_file:
        found.append(
            Credential("tracing-ca.pem", f"{TLS}/tracing-ca.pem", "certificate authority of the trace collector")
        )
    if gateway.send_principal or context.spec.retrieval is not None:
        found.append(
            Credential(
                "principal.key",
                f"{SECRETS}/principal.key",
                "signs the principal of requests to pools and retrieval",
                GATEWAY_USER,
            )
        )
    return found


def listed_files(context: Context) -> list[Credential]:
    """Return the index for exact data match and its key; empty without one."""
    if context.gateway.detect.exact_data_match is None:
        return []
    return [
        Credential("listed.edm", f"{SECRETS}/listed.edm", "names and numbers to find, as keyed hashes", GATEWAY_USER),
        Credential("listed.key", f"{SECRETS}/listed.key", "key of listed.edm", GATEWAY_USER),
    ]


def recognizer_file(index: int) -> str:
    """Return the name of a file of recognizers."""
    return f"recognizers-{index + 1}.yaml"


def recognizer_files(context: Context) -> list[Credential]:
    """Return the files of the site's own recognizers, whose examples may be real identifiers."""
    names = [recognizer_file(index) for index, _ in enumerate(context.gateway.detect.recognizer_files)]
    return [Credential(name, f"{SECRETS}/{name}", "recognizers of the site", GATEWAY_USER) for name in names]


def credentials_on(context: Context, node: Node) -> list[Credential]:
    """Return all credentials of a node."""
    return [
        *_of_services(context, node),
        *_of_monitoring(context, node),
        *_of_retrieval(context, node),
        *_of_host(context),
    ]


def _of_host(context: Context) -> list[Credential]:
    logs = context.spec.host.logs
    if logs is None or logs.ca_file is None:
        return []
    return [Credential("siem-ca.pem", SIEM_CA, "certificate authority of the SIEM", is_public=True)]


def _of_services(context: Context, node: Node) -> list[Credential]:
    if context.is_gateway(node):
        own = [*CERTIFICATES, *GATEWAY_SECRETS, *key_files(context), *cloud_files(context), *access_files(context)]
        return [*own, *listed_files(context), *recognizer_files(context)]
    # With monitoring, every node has an exporter. With client certificates, every node sends its log.
    logs = context.spec.host.logs
    is_served = context.replicas_on(node) or context.is_mirror(node) or context.monitoring_server is not None
    is_served = is_served or context.is_retrieval(node) or (logs is not None and logs.client_certificate)
    return list(CERTIFICATES) if is_served else []


def _of_retrieval(context: Context, node: Node) -> list[Credential]:
    if not context.is_retrieval(node):
        return []
    return [
        Credential(CLAIM_KEY, f"{SECRETS}/{CLAIM_KEY}", "signs the groups of callers for the database", RETRIEVAL_USER),
        Credential(JWKS, f"{TLS}/{JWKS}", "public keys of the gateway, for the principals of its requests"),
        # root of this node is the superuser of the database, so the key gives it no further rights.
        *(
            Credential(
                name, f"{SECRETS}/{name}", "for `sovctl rag` as root, which writes documents", is_for_root_only=True
            )
            for name in ADMINISTRATOR_FILES
        ),
    ]


def _of_monitoring(context: Context, node: Node) -> list[Credential]:
    server = context.monitoring_server
    if server is None or not context.is_monitoring_server(node):
        return []
    found = []
    if server.gateway_client is not None:
        path = f"{SECRETS}/{MONITORING_KEY}"
        found.append(Credential(MONITORING_KEY, path, "API key for metrics of the gateway", MONITORING_USER))
    for each in server.receivers:
        if each.secret is not None:
            name = receiver_secret_file(each.name)
            found.append(Credential(name, f"{SECRETS}/{name}", f"secret of receiver {each.name}", MONITORING_USER))
        if each.ca_file is not None:
            name = receiver_ca_file(each.name)
            found.append(Credential(name, f"{TLS}/{name}", f"certificate authority of receiver {each.name}"))
    return found


def fingerprint(sha256: str) -> str:
    """Return a short digest of a content digest, for plans and screens. It reveals nothing about a random secret."""
    return "fp-" + sha256_hex(f"sovctl credential {sha256}")[:16]


def _expect(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    wanted = credentials_on(context, node)
    yield from _orphans(facts, {credential.path for credential in wanted})
    for credential in wanted:
        yield Desired(
            kind="credential",
            name=credential.file,
            state={
                "fingerprint": context.fingerprint(node, credential.file),
                "mode": credential.mode,
                "uid": credential.uid,
            },
            why=_why(context, node, credential),
            variables={
                "path": credential.path,
                "mode": credential.mode,
                "owner": credential.owner,
                "gid": SECRETS_GID,
            },
            risk=Risk.SERVICE,
        )


def _why(context: Context, node: Node, credential: Credential) -> str:
    reason = context.renewals.get(node.name, "") if credential.file in ("node.pem", "node.key") else ""
    return f"{credential.why}: {reason}" if reason else credential.why


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    entry = facts.files.get(desired.variables["path"], {})
    if "sha256" not in entry:
        return None
    return {"fingerprint": fingerprint(entry["sha256"]), "mode": entry["mode"], "uid": entry["uid"]}


def _orphans(facts: NodeFacts | None, wanted: set[str]) -> Iterator[Desired]:
    """Return the credentials on the node that no service of it uses."""
    for path in sorted(facts.files if facts else ()):
        folder, _, name = path.rpartition("/")
        if folder in (TLS, SECRETS) and path not in wanted:
            yield orphan("credential", name, [path], why="site.yaml requires no such file on this node")


# Facts contain the plain SHA-256 of these files, which reveals no secret: token keys, KEKs, listed.key and private keys
# have 128 random bits or more, and so has the file of a PIN. gateway-clients.json and listed.edm contain hashes only.
# API keys under 24 characters are rejected (credentials.MIN_API_KEY_LENGTH). Captures have mode 0600.
RESOURCE_TYPE = ResourceType(
    "credential", _expect, _observe, lambda _context, _node: Query(hash=(f"{TLS}/*", f"{SECRETS}/*", SIEM_CA))
)
