"""Measures what sovctl creates itself on the first days: certificate authority, keys of vault, tokens and ledgers."""

from __future__ import annotations

from collections.abc import Iterator

from ..resources.credential import kek_file, token_key_file
from .item import Finding, done, later, missing
from .situation import Situation


def measure_authority(situation: Situation) -> Iterator[Finding]:
    """Check the certificate authority of the site."""
    authority = situation.opened.credentials.authority
    if authority.has_root():
        yield done(str(authority.certificate_file), "certificate and key of the site's authority")
    elif authority.certificate_file.exists():
        yield missing(str(authority.certificate_file), "its key is absent or differs", "restore both from the backup")
    elif authority.issuer_key_file.exists():
        remedy = f"sovctl bootstrap ca install {situation.path} (docs/bootstrap.md)"
        yield missing(str(authority.issuer_file), "the ceremony of the root certificate is incomplete", remedy)
    else:
        reason = "created on this controller by the first apply, without a ceremony"
        yield later(str(authority.certificate_file), reason, "sovctl bootstrap ca script NAME (docs/bootstrap.md)")


def measure_vault_keys(situation: Situation) -> Iterator[Finding]:
    """Check the keys of tokens and vault of the gateway."""
    gateway = situation.opened.spec.gateway
    if gateway is None:
        yield done("gateway", "no gateway in site.yaml")
        return
    names = [token_key_file(key.version) for key in gateway.token_keys]
    names += [kek_file(kek) for kek in gateway.vault.kek if kek.pkcs11 is None]
    yield from _created(situation, [*dict.fromkeys(names), "gateway-ledger.key"])


def measure_ledger_key(situation: Situation) -> Iterator[Finding]:
    """Check the key of the site's ledger."""
    path = situation.state.keys / "ledger.key"
    if path.exists():
        yield done(str(path), "copy ledger.vkey and the checkpoint out of the site")
    elif (situation.state.ledger / "checkpoint").exists():
        yield missing(str(path), "the ledger exists, its key does not", "restore it from the backup")
    else:
        yield later(str(path), "created by the first plan", f"sovctl plan {situation.path}")


def _created(situation: Situation, names: list[str]) -> Iterator[Finding]:
    for name in names:
        path = situation.state.keys / name
        if path.exists():
            yield done(str(path), "keep a copy in the vault of the security officer")
        else:
            yield later(str(path), "created by the first apply", f"sovctl apply {situation.path}")
