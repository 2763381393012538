"""The files behind the `credential` resources: where each lies on the controller, and making what apply must make.

`existing` only reads, so that a plan changes nothing; `ensure` creates what is missing, once, before an apply.
"""

from __future__ import annotations

import json
import os
import secrets
from datetime import UTC, datetime
from pathlib import Path

from sovctl.compliance.signing import load_or_create
from sovctl.support.atomic_files import write_atomic
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError

from ..certificate_authority import Authority
from ..resources.context import Context
from ..resources.credential import credentials_on, fingerprint, kek_file, token_key_file
from ..resources.gateway_config_access import client_entry
from ..spec import Node, SiteSpec
from ..spec.types import Secret
from .state_folder import SiteState

MIN_API_KEY_LENGTH = 24
"""Characters. 24 random characters of base64 are 144 bit; a shorter key could be found from its hash."""

_PIN_SALT = "pin.salt"  # stands below a PIN in its file, so that nobody finds the PIN by the file's digest


def read_secret(secret: Secret, site_folder: Path, where: str) -> str:
    """The value a reference names, without surrounding white space.

    Raises:
        InputError: it is not there, is empty, or its file can be read by others. The value is never in the message.
    """
    if secret.env:
        value = os.environ.get(secret.env, "").strip()
        if not value:
            raise InputError(f"expected environment variable {secret.env} to be set", where=where)
        return value
    path = site_folder / (secret.file or "")
    try:
        if path.stat().st_mode & 0o077:
            raise InputError(
                f"expected a file only its owner can read, got mode {path.stat().st_mode & 0o777:04o}",
                where=where,
                hint=f"chmod 600 {path}",
            )
        value = path.read_text().strip()
    except FileNotFoundError:
        raise InputError(f"expected a file, found none at {path}", where=where) from None
    except UnicodeDecodeError:
        raise InputError("expected text in the secret file", where=where) from None
    if not value:
        raise InputError(f"expected a secret in {path}, it is empty", where=where)
    return value


def _api_key(secret: Secret, site_folder: Path, where: str) -> str:
    key = read_secret(secret, site_folder, where)
    if len(key) < MIN_API_KEY_LENGTH:
        raise InputError(f"expected at least {MIN_API_KEY_LENGTH} characters, got {len(key)}", where=where)
    return key


def _is_there(secret: Secret, site_folder: Path) -> bool:
    return bool(os.environ.get(secret.env)) if secret.env else (site_folder / (secret.file or "")).exists()


class Credentials:
    """Every credential of a site as files on the controller.

    Args:
        state: of the site.
        site_folder: what paths in the spec are relative to.
    """

    def __init__(self, spec: SiteSpec, state: SiteState, site_folder: Path) -> None:
        self.spec, self.state, self.site_folder = spec, state, site_folder
        self.authority = Authority(state.pki, spec.site.name)

    def file(self, node: Node, name: str) -> Path:
        """Where the credential `name` of a node lies; it need not exist yet."""
        if name == "ca.pem":
            return self.authority.certificate_file
        if name in ("node.pem", "node.key"):
            return self.state.pki / f"{node.name}{name.removeprefix('node')}"
        if self.spec.gateway:
            for cloud in self.spec.gateway.clouds:
                if name == f"cloud-{cloud.name}-ca.pem":
                    return self.site_folder / (cloud.ca_file or "")
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
            for provider in self.spec.gateway.identity_providers:
                if name == f"oidc-{provider.name}.jwks.json":
                    return self.site_folder / (provider.jwks_file or "")
                if name == f"oidc-{provider.name}-ca.pem":
                    return self.site_folder / (provider.ca_file or "")
        return self.state.keys / name

    def fingerprints(self, context: Context, *, now: datetime | None = None) -> dict[tuple[str, str], str]:
        """Of what apply would lay on nodes, by (node, name); what it would make or renew is left out. Reads only.

        Args:
            now: for certificates that are about to run out; the clock's when None.

        Raises:
            InputError: a secret that is there cannot be used.
        """
        now = now or datetime.now(UTC)
        derived, has_root = self._derived(may_be_absent=True), self.authority.has_root()
        found = {}
        for _, node in self.spec.nodes():
            made_anew = set() if has_root else {"ca.pem"}
            if not self.authority.is_good(node.name, node.address, now=now):
                made_anew |= {"node.pem", "node.key"}
            for credential in credentials_on(context, node):
                path = self.file(node, credential.file)
                if credential.file in derived:
                    content = derived[credential.file].encode()
                elif path.is_file() and credential.file not in made_anew:
                    content = path.read_bytes()
                else:
                    continue
                found[node.name, credential.file] = fingerprint(sha256_hex(content))
        return found

    def ensure(self, context: Context) -> None:
        """Make what is missing and renew what is stale; the same content stays the same file."""
        self.state.prepare()
        now = datetime.now(UTC)
        self.authority.ensure(now=now)
        for _, node in self.spec.nodes():
            if credentials_on(context, node):
                self.authority.issue(node.name, node.address, now=now)
        if self.spec.gateway is None:
            return
        gateway = self.spec.gateway
        made = [token_key_file(key.version) for key in gateway.token_keys]
        made += [kek_file(kek) for kek in gateway.vault.kek if kek.pkcs11 is None]
        if any(kek.pkcs11 for kek in gateway.vault.kek):
            made.append(_PIN_SALT)
        if gateway.handoff is not None and gateway.handoff.webhook is not None:
            made.append("handoff-webhook.key")
        for name in made:
            path = self.state.keys / name
            if not path.exists():
                write_atomic(path, secrets.token_hex(32) + "\n", mode=0o600)
        load_or_create(self.state.keys / "gateway-ledger.key")
        if self.spec.gateway.send_principal:
            load_or_create(self.state.keys / "principal.key")
        for name, content in self._derived(may_be_absent=False).items():
            self._write(name, content)

    def _derived(self, *, may_be_absent: bool) -> dict[str, str]:
        """Content, by name, of the files that follow from the secrets which site.yaml names.

        Args:
            may_be_absent: leave out what needs a secret that is not there, instead of refusing: a plan from captures
                is made where no secret is.
        """
        if self.spec.gateway is None:
            return {}
        keys = [client.api_key for client in self.spec.gateway.clients]
        derived = {}
        if not may_be_absent or all(_is_there(key, self.site_folder) for key in keys):
            derived["gateway-clients.json"] = self._clients()
        for index, cloud in enumerate(self.spec.gateway.clouds):
            if cloud.api_key and (not may_be_absent or _is_there(cloud.api_key, self.site_folder)):
                where = f"site.yaml: gateway.clouds[{index}].api_key"
                derived[f"cloud-{cloud.name}.key"] = _api_key(cloud.api_key, self.site_folder, where) + "\n"
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
