"""Rules about `host`: accounts of administrators."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import Problem

from ...catalog.host_settings import load_host_settings
from ...spec.service_accounts import SERVICE_USERS
from ...spec.ssh_key import key_fingerprint
from .rule import SiteUnderValidation, duplicates, unknown_name

SYSTEM_ACCOUNTS = frozenset({
    "root", "daemon", "bin", "sys", "sync", "games", "man", "lp", "mail", "news", "uucp", "proxy", "www-data", "backup",
    "list", "irc", "sshd", "messagebus", "systemd-network", "systemd-resolve", "systemd-timesync", "_apt", "_chrony",
    "chrony", "syslog", "polkitd", "tss", "uuidd", "adm", "shutdown", "halt", "operator", "ftp", "dbus",
})  # fmt: skip
"""Accounts of base-passwd in Debian and of setup in RHEL, and of packages that most nodes have."""


_FIPS_HASHES = {
    "multimodal.mm_hasher_algorithm": ("sha256", "sha512"),
    "cache.prefix_caching_hash_algo": ("sha256", "sha256_cbor"),
}
"""Hashes of FIPS 180-4, by field of a pool."""


def check_fips(site: SiteUnderValidation) -> Iterator[Problem]:
    """Yield pools with a hash outside FIPS 180-4 if nodes must be in FIPS mode."""
    if site.spec.host.fips != "required":
        return
    for index, pool in enumerate(site.spec.pools):
        for field, permitted in _FIPS_HASHES.items():
            section, name = field.split(".")
            value = getattr(getattr(pool, section), name)
            if value is not None and value not in permitted:
                yield Problem(
                    f"expected {' or '.join(permitted)} with `host.fips: required`, got {value}",
                    where=f"pools[{index}].{field}",
                    hint="remove it for sha256",
                )


def check_administrators(site: SiteUnderValidation) -> Iterator[Problem]:
    people = list(enumerate(site.spec.host.administrators))
    yield from duplicates("administrator", ((f"host.administrators[{i}].name", each.name) for i, each in people))
    for index, each in people:
        where = f"host.administrators[{index}]"
        if each.name == site.spec.access.user:
            yield Problem(
                f"expected an account of a person, got `{each.name}`, which is access.user",
                where=f"{where}.name",
                hint="choose another name: apply never changes the account that it uses itself",
            )
        elif each.name in SYSTEM_ACCOUNTS or each.name in SERVICE_USERS:
            yield Problem(
                f"expected an account of a person, got `{each.name}`, which is an account of the system",
                where=f"{where}.name",
                hint="choose another name",
            )
        for number, key in enumerate(each.keys):
            if not key_fingerprint(key).startswith("SHA256:"):
                yield Problem(
                    "expected a whole public key of the named type, got another text",
                    where=f"{where}.keys[{number}]",
                    hint="copy the first two words of the .pub file, or of `ssh-add -L`",
                )
    yield from duplicates(
        "public key",
        ((f"host.administrators[{i}].keys[{j}]", key) for i, each in people for j, key in enumerate(each.keys)),
    )


def check_mounts(site: SiteUnderValidation) -> Iterator[Problem]:
    mounts, groups = list(enumerate(site.spec.host.mounts)), [group.name for group in site.spec.node_groups]
    for index, each in mounts:
        for number, name in enumerate(each.node_groups):
            yield from unknown_name("node group", name, groups, f"host.mounts[{index}].node_groups[{number}]")
    of_group = [
        (f"host.mounts[{index}]", (name, each.path)) for index, each in mounts for name in each.node_groups or groups
    ]
    yield from duplicates("mount point of a node group", ((f"{where}.path", pair) for where, pair in of_group))


def check_logs(site: SiteUnderValidation) -> Iterator[Problem]:
    logs = site.spec.host.logs
    if logs is None:
        return
    if (logs.ca_file is None) != (logs.server_name is None):
        lacking, there = ("server_name", "ca_file") if logs.ca_file else ("ca_file", "server_name")
        yield Problem(
            f"expected {lacking} together with {there}, got {there} alone",
            where=f"host.logs.{lacking}",
            hint="name both to send logs over TLS, or remove both",
        )
    if logs.client_certificate and logs.ca_file is None:
        yield Problem(
            "expected no client certificates without TLS, got client_certificate: true",
            where="host.logs.client_certificate",
            hint="name ca_file and server_name, or remove it",
        )
    if not logs.address.is_private:
        yield Problem(
            f"expected a private IPv4 address, got `{logs.address}`",
            where="host.logs.address",
            hint="the SIEM is inside the site: log messages contain names of accounts",
        )


def check_omitted_settings(site: SiteUnderValidation) -> Iterator[Problem]:
    listed = [(f"host.omitted_settings[{i}]", each) for i, each in enumerate(site.spec.host.omitted_settings)]
    for where, name in listed:
        yield from unknown_name("setting of docs/host.md", name, (row.id for row in load_host_settings()), where)
    yield from duplicates("omitted setting", listed)
