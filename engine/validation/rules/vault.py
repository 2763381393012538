"""Rules about the keys of the gateway's vault and tokens. Pure functions of one site."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import Problem

from .rule import SiteUnderValidation, duplicates


def check_versions(site: SiteUnderValidation) -> Iterator[Problem]:
    gateway = site.spec.gateway
    if gateway is None:
        return
    keks = ((f"gateway.vault.kek[{i}].version", str(kek.version)) for i, kek in enumerate(gateway.vault.kek))
    yield from duplicates("version", keks)
    tokens = ((f"gateway.token_keys[{i}].version", str(key.version)) for i, key in enumerate(gateway.token_keys))
    yield from duplicates("version", tokens)
    first: dict[tuple[str, str, str, str], str] = {}
    for index, kek in enumerate(gateway.vault.kek):
        if kek.pkcs11 is None:
            continue
        where = f"gateway.vault.kek[{index}].pkcs11"
        key = (kek.pkcs11.module, kek.pkcs11.token_label, kek.pkcs11.key_label, kek.pkcs11.mechanism)
        if key in first:
            yield Problem(
                "expected a different key, got a duplicate", where=where, hint=f"{first[key]} names the same key"
            )
        first.setdefault(key, where)


def check_database(site: SiteUnderValidation) -> Iterator[Problem]:
    gateway = site.spec.gateway
    if gateway is None or (database := gateway.vault.postgresql) is None:
        return
    if not database.host.is_private:
        yield Problem(
            f"expected a private IPv4 address, got {database.host}",
            where="gateway.vault.postgresql.host",
            hint="token values stay inside the site, even encrypted",
        )
