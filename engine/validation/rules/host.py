"""Rules about `host`: accounts of administrators."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import Problem

from ...catalog.host_settings import load_host_settings
from ...resources.context import ENGINE_USER, GATEWAY_USER
from .rule import SiteUnderValidation, duplicates, unknown_name

SYSTEM_ACCOUNTS = frozenset({
    "root", "daemon", "bin", "sys", "sync", "games", "man", "lp", "mail", "news", "uucp", "proxy", "www-data", "backup",
    "list", "irc", "sshd", "messagebus", "systemd-network", "systemd-resolve", "systemd-timesync", "_apt", "_chrony",
    "chrony", "syslog", "polkitd", "tss", "uuidd", "adm", "shutdown", "halt", "operator", "ftp", "dbus",
})  # fmt: skip
"""Accounts of base-passwd in Debian and of setup in RHEL, and of packages that most nodes have."""


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
        elif each.name in SYSTEM_ACCOUNTS or each.name in (ENGINE_USER, GATEWAY_USER):
            yield Problem(
                f"expected an account of a person, got `{each.name}`, which is an account of the system",
                where=f"{where}.name",
                hint="choose another name",
            )
    yield from duplicates(
        "public key",
        ((f"host.administrators[{i}].keys[{j}]", key) for i, each in people for j, key in enumerate(each.keys)),
    )


def check_omitted_settings(site: SiteUnderValidation) -> Iterator[Problem]:
    listed = [(f"host.omitted_settings[{i}]", each) for i, each in enumerate(site.spec.host.omitted_settings)]
    for where, name in listed:
        yield from unknown_name("setting of docs/host.md", name, (row.id for row in load_host_settings()), where)
    yield from duplicates("omitted setting", listed)
