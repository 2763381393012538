"""Files of the `credential` resources on the controller.

`fingerprints` only reads, so that a plan changes nothing. `ensure` creates missing files and renews certificates before
an apply.
"""

from __future__ import annotations

import json
import os
import secrets
from datetime import UTC, datetime
from ipaddress import IPv4Address
from pathlib import Path

from sovctl.compliance.signing import load_or_create
from sovctl.support.atomic_files import write_atomic
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError

from ..certificate_authority import Authority
from ..resources.context import Context
from ..resources.credential import (
    ADMINISTRATOR_FILES,
    CLAIM_KEY,
    JWKS,
    MONITORING_KEY,
    cloud_credentials_file,
    credentials_on,
    fingerprint,
    kek_file,
    proxy_ca_file,
    proxy_password_file,
    receiver_ca_file,
    receiver_secret_file,
    recognizer_file,
    token_ca_file,
    token_key_file,
)
from ..resources.gateway.access import client_entry
from ..resources.mirror.urls import CA_FILE
from ..resources.resource import CREATED_BY_APPLY
from ..spec import Node, SiteSpec
from ..spec.gateway.section import Gateway
from ..spec.monitoring import AlertReceiver
from ..spec.retrieval import ADMINISTRATOR
from ..spec.types import Secret
from .principal_keys import jwks_text
from .state_folder import SiteState

MIN_API_KEY_LENGTH = 24
"""Characters. 24 random base64 characters are 144 bits; a shorter key could be recovered from its hash."""

_NOWHERE = IPv4Address("127.0.0.1")
"""Address in the certificate of administrators. Only its name counts; clients have no address."""
_PIN_SALT = "pin.salt"  # follows the PIN in its file, so that the PIN cannot be recovered from the file's digest


def read_secret(secret: Secret, site_folder: Path, where: str) -> str:
    """Return the value of a secret, without surrounding white space.

    Raises:
        InputError: it is absent or empty, or other users can read its file. The message never contains the value.
    """
    if secret.env:
        value = os.environ.get(secret.env, "").strip()
        if not value:
            raise InputError(f"environment variable {secret.env} is not set", where=where)
        return value
    path = site_folder / (secret.file or "")
    try:
        if path.stat().st_mode & 0o077:
            raise InputError(
                f"secret file is readable by others (mode {path.stat().st_mode & 0o777:04o})",
                where=where,
                hint=f"run `chmod 600 {path}` and rotate the secret",
            )
        value = path.read_text().strip()
    except FileNotFoundError:
        raise InputError(f"no such file: {path}", where=where) from None
    except UnicodeDecodeError:
        raise InputError("secret file is not UTF-8 text", where=where) from None
    if not value:
        raise InputError(f"secret file is empty: {path}", where=where)
    return value


def _api_key(secret: Secret, site_folder: Path, where: str) -> str:
    key = read_secret(secret, site_folder, where)
    if len(key) < MIN_API_KEY_LENGTH:
        raise InputError(f"expected at least {MIN_API_KEY_LENGTH} characters, got {len(key)}", where=where)
    return key


def _is_there(secret: Secret, site_folder: Path) -> bool:
    return bool(os.environ.get(secret.env)) if secret.env else (site_folder / (secret.file or "")).exists()


class Credentials:
    """All credentials of a site, as files on the controller.

    Args:
        state: of the site.
        site_folder: base of relative paths in site.yaml.
    """

    def __init__(self, spec: SiteSpec, state: SiteState, site_folder: Path) -> None:
        self.spec, self.state, self.site_folder = spec, state, site_folder
        self.authority = Authority(state.pki, spec.site.name)

    def file(self, node: Node, name: str) -> Path:
        """Return the path of a credential of a node; the file may not exist yet."""
        if name in ("ca.pem", CA_FILE):
            return self.authority.certificate_file
        if name in ("node.pem", "node.key"):
            return self.state.pki / f"{node.name}{name.removeprefix('node')}"
        if name in ADMINISTRATOR_FILES:
            return self.state.pki / name
        for receiver in self._receivers:
            if name == receiver_ca_file(receiver.name):
                return self.site_folder / (receiver.ca_file or "")
        if name == "siem-ca.pem":
            return self.site_folder / ((self.spec.host.logs and self.spec.host.logs.ca_file) or "")
        if self.spec.gateway:
            for cloud in self.spec.gateway.clouds:
                if name == f"cloud-{cloud.name}-ca.pem":
                    return self.site_folder / (cloud.ca_file or "")
                if name == token_ca_file(cloud.name):
                    return self.site_folder / ((cloud.vertex and cloud.vertex.token_ca_file) or "")
                if name == proxy_ca_file(cloud.name):
                    return self.site_folder / ((cloud.proxy and cloud.proxy.ca_file) or "")
            if name == "handoff-webhook-ca.pem":
                webhook = self.spec.gateway.handoff.webhook if self.spec.gateway.handoff else None
                return self.site_folder / ((webhook.ca_file if webhook else None) or "")
            if name == "vault-ca.pem" and (database := self.spec.gateway.vault.postgresql):
                return self.site_folder / (database.ca_file or "")
            if name == "tracing-ca.pem":
                return self.site_folder / ((self.spec.gateway.tracing and self.spec.gateway.tracing.ca_file) or "")
            if name == "clients-ca.pem":
                return self.site_folder / (self.spec.gateway.client_ca_file or "")
            if (listed := self.spec.gateway.detect.exact_data_match) and name in ("listed.edm", "listed.key"):
                return self.site_folder / (listed.index_file if name == "listed.edm" else listed.key_file)
            for index, file in enumerate(self.spec.gateway.detect.recognizer_files):
                if name == recognizer_file(index):
                    return self.site_folder / file
            for provider in self.spec.gateway.identity_providers:
                if name == f"oidc-{provider.name}.jwks.json":
                    return self.site_folder / (provider.jwks_file or "")
                if name == f"oidc-{provider.name}-ca.pem":
                    return self.site_folder / (provider.ca_file or "")
        return self.state.keys / name

    def fingerprints(self, context: Context, *, now: datetime | None = None) -> dict[tuple[str, str], str]:
        """Return the fingerprints of existing credentials, by (node, name). Only reads.

        Credentials that apply would create or renew are omitted.

        Args:
            now: time to check the expiry of certificates; None for the current time.

        Raises:
            InputError: an existing secret is unusable.
        """
        now = now or datetime.now(UTC)
        derived, has_root = self._derived(may_be_absent=True), self.authority.has_root()
        found = {}
        for _, node in self.spec.nodes():
            renewed = set() if has_root else {"ca.pem"}
            if not self.authority.is_good(node.name, node.address, now=now):
                renewed |= {"node.pem", "node.key"}
            if not self.authority.is_good(ADMINISTRATOR, _NOWHERE, now=now):
                renewed |= {*ADMINISTRATOR_FILES}
            for credential in credentials_on(context, node):
                path = self.file(node, credential.file)
                if credential.file in derived:
                    content = derived[credential.file].encode()
                elif path.is_file() and credential.file not in renewed:
                    content = path.read_bytes()
                else:
                    continue
                found[node.name, credential.file] = fingerprint(sha256_hex(content))
            if has_root and self.spec.mirror:
                found[node.name, CA_FILE] = fingerprint(sha256_hex(self.authority.certificate_file.read_bytes()))
        return found

    def renewals(self, *, now: datetime | None = None) -> dict[str, str]:
        """Return the reasons of certificates that a plan renews, by node. Only reads.

        Args:
            now: time to check the expiry of certificates; None for the current time.
        """
        now = now or datetime.now(UTC)
        found = {node.name: self.authority.renewal(node.name, now=now) for _, node in self.spec.nodes()}
        return {name: reason for name, reason in found.items() if reason}

    def clients_sha256(self) -> str:
        """Return the SHA-256 of the gateway's clients file; `CREATED_BY_APPLY` while a key of a client is absent.

        Raises:
            InputError: an existing key is unusable.
        """
        content = self._derived(may_be_absent=True).get("gateway-clients.json")
        return sha256_hex(content) if content is not None else CREATED_BY_APPLY

    def ensure(self, context: Context) -> None:
        """Create missing credentials and renew stale ones. A file is only written if its content changes."""
        self.state.prepare()
        now = datetime.now(UTC)
        self.authority.ensure(now=now)
        for _, node in self.spec.nodes():
            if credentials_on(context, node):
                self.authority.issue(node.name, node.address, now=now)
        if self.spec.retrieval is not None:
            self.authority.issue(ADMINISTRATOR, _NOWHERE, now=now)
        if self.spec.gateway is not None:
            self._make_keys(self.spec.gateway)
        for name, content in self._derived(may_be_absent=False).items():
            self._write(name, content)

    def _make_keys(self, gateway: Gateway) -> None:
        made = [token_key_file(key.version) for key in gateway.token_keys]
        made += [kek_file(kek) for kek in gateway.vault.kek if kek.pkcs11 is None]
        if any(kek.pkcs11 for kek in gateway.vault.kek):
            made.append(_PIN_SALT)
        if gateway.handoff is not None and gateway.handoff.webhook is not None:
            made.append("handoff-webhook.key")
        if self.spec.retrieval is not None:
            made.append(CLAIM_KEY)
        for name in made:
            path = self.state.keys / name
            if not path.exists():
                write_atomic(path, secrets.token_hex(32) + "\n", mode=0o600)
        load_or_create(self.state.keys / "gateway-ledger.key")
        if gateway.send_principal or self.spec.retrieval is not None:
            load_or_create(self.state.keys / "principal.key")

    @property
    def _receivers(self) -> list[AlertReceiver]:
        server = self.spec.monitoring.server if self.spec.monitoring else None
        return server.receivers if server else []

    def _of_monitoring(self, *, may_be_absent: bool) -> dict[str, str]:
        """Return the secrets of Prometheus and Alertmanager, by file name."""
        server = self.spec.monitoring.server if self.spec.monitoring else None
        if server is None:
            return {}
        wanted = {
            receiver_secret_file(each.name): (each.secret, f"site.yaml: monitoring.server.receivers[{index}]")
            for index, each in enumerate(server.receivers)
        }
        for index, client in enumerate(self.spec.gateway.clients if self.spec.gateway else ()):
            if client.name == server.gateway_client:
                wanted[MONITORING_KEY] = (client.api_key, f"site.yaml: gateway.clients[{index}].api_key")
        return {
            name: _api_key(secret, self.site_folder, where) + "\n"
            for name, (secret, where) in wanted.items()
            if secret is not None and (not may_be_absent or _is_there(secret, self.site_folder))
        }

    def _derived(self, *, may_be_absent: bool) -> dict[str, str]:
        """Return the contents of the files that are derived from secrets of site.yaml, by file name.

        Args:
            may_be_absent: omit files whose secret is absent instead of raising, because a plan from captures can be
                made on a machine without secrets.
        """
        derived = self._of_monitoring(may_be_absent=may_be_absent)
        if self.spec.gateway is None:
            return derived
        if self.spec.retrieval is not None and (principal_key := self.state.keys / "principal.key").exists():
            derived[JWKS] = jwks_text(load_or_create(principal_key).public)
        keys = [client.api_key for client in self.spec.gateway.clients]
        if not may_be_absent or all(_is_there(key, self.site_folder) for key in keys):
            derived["gateway-clients.json"] = self._clients()
        for index, cloud in enumerate(self.spec.gateway.clouds):
            if cloud.api_key and (not may_be_absent or _is_there(cloud.api_key, self.site_folder)):
                where = f"site.yaml: gateway.clouds[{index}].api_key"
                derived[f"cloud-{cloud.name}.key"] = _api_key(cloud.api_key, self.site_folder, where) + "\n"
            credentials = cloud.credentials
            if credentials and (not may_be_absent or _is_there(credentials, self.site_folder)):
                where = f"site.yaml: gateway.clouds[{index}].{cloud.credentials_place}"
                derived[cloud_credentials_file(cloud.name)] = read_secret(credentials, self.site_folder, where) + "\n"
            password = cloud.proxy.password if cloud.proxy else None
            if password and (not may_be_absent or _is_there(password, self.site_folder)):
                where = f"site.yaml: gateway.clouds[{index}].proxy.password"
                derived[proxy_password_file(cloud.name)] = read_secret(password, self.site_folder, where) + "\n"
        database = self.spec.gateway.vault.postgresql
        if database and (not may_be_absent or _is_there(database.password, self.site_folder)):
            where = "site.yaml: gateway.vault.postgresql.password"
            derived["vault.password"] = _api_key(database.password, self.site_folder, where) + "\n"
        for index, kek in enumerate(self.spec.gateway.vault.kek):
            if kek.pkcs11 and (not may_be_absent or _is_there(kek.pkcs11.pin, self.site_folder)):
                where = f"site.yaml: gateway.vault.kek[{index}].pkcs11.pin"
                pin, salt = read_secret(kek.pkcs11.pin, self.site_folder, where), self.state.keys / _PIN_SALT
                if salt.exists():
                    derived[kek_file(kek)] = f"{pin}\n{salt.read_text()}"
        return derived

    def _clients(self) -> str:
        assert self.spec.gateway is not None
        clients = []
        for index, client in enumerate(self.spec.gateway.clients):
            key = _api_key(client.api_key, self.site_folder, f"site.yaml: gateway.clients[{index}].api_key")
            clients.append(client_entry(client, sha256_hex(key)))
        return json.dumps(clients, indent=1, sort_keys=True) + "\n"

    def _write(self, name: str, content: str) -> None:
        path = self.state.keys / name
        if not path.exists() or path.read_text() != content:
            write_atomic(path, content, mode=0o600)
