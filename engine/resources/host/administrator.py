"""Administrators: an account for each person in site.yaml, with its public keys and sudo rules.

- The keys are in a folder of root, and sshd accepts no others for these accounts (`sshd`). A person cannot add one.
- Accounts have no password and no supplementary groups, because a group such as `sudo` grants more than site.yaml.
- `access.user` is never changed, because apply depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from sovctl.support.canonical_json import sha256_hex

from ...facts.host.accounts import accounts_command, parse_accounts
from ...facts.node import NodeFacts
from ...spec import Node
from ...spec.host import Administrator
from ...spec.ssh_key import key_fingerprint
from ..context import Context, render
from ..orphan import orphan
from ..resource import Desired, State
from ..resource_type import Query, ResourceType

KEYS, SUDO = "/etc/ssh/authorized_keys.d", "/etc/sudoers.d"
SHELL = "/bin/bash"
_SUDO_FILE = re.compile(rf"^{SUDO}/sovctl-(.+)$")


def _expect(context: Context, _node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    people = context.spec.host.administrators
    kept = {context.spec.access.user, "root", *(each.name for each in people)}
    yield from _former(facts, {each.name for each in people}, kept)
    for each in people:
        yield Desired(
            kind="administrator",
            name=each.name,
            state={
                "shell": SHELL,
                "groups": [],
                "has_password": False,
                "keys": [key_fingerprint(key) for key in each.keys],
                "keys_mode": "0644",
                "sudo": list(each.sudo),
                "sudo_sha256": sha256_hex(_sudo_text(each)) if each.sudo else None,
            },
            why="account of host.administrators",
            variables={"keys": list(each.keys), "sudo": list(each.sudo), "shell": SHELL},
        )


def _sudo_text(person: Administrator) -> str:
    return render("administrator", "sudoers.j2", item={"name": person.name, "sudo": person.sudo})


def _keys(text: str | None) -> list[str]:
    lines = (line.strip() for line in (text or "").splitlines())
    return [key_fingerprint(line) for line in lines if line and not line.startswith("#")]


def _sudo(text: str | None) -> list[str]:
    """Return the commands of a sudoers file that sovctl wrote; other lines are returned whole."""
    lines = [line for line in (text or "").splitlines() if line and not line.startswith("#")]
    return [re.sub(r"^\S+ ALL=\(root\) NOPASSWD: ", "", line) for line in lines]


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    account = parse_accounts(facts.answer("accounts")).get(desired.name)
    if account is None:
        return None
    keys, sudo = f"{KEYS}/{desired.name}", f"{SUDO}/sovctl-{desired.name}"
    return {
        "shell": account.shell,
        "groups": [group for group in account.groups if group != desired.name],
        "has_password": account.has_password,
        "keys": _keys(facts.texts.get(keys)),
        "keys_mode": facts.files.get(keys, {}).get("mode"),
        "sudo": _sudo(facts.texts.get(sudo)),
        "sudo_sha256": facts.sha256(sudo),
    }


def _former(facts: NodeFacts | None, names: set[str], kept: set[str]) -> Iterator[Desired]:
    """Yield accounts that site.yaml no longer contains, recognized by their files."""
    files: dict[str, list[str]] = {}
    for path in sorted(facts.files if facts else ()):
        folder, _, name = path.rpartition("/")
        sudo = _SUDO_FILE.match(path)
        if sudo or folder == KEYS:
            files.setdefault(sudo[1] if sudo else name, []).append(path)
    for name, paths in files.items():
        if name not in names:
            made = orphan("administrator", name, paths, why="site.yaml contains no such administrator; it is locked")
            # A name that useradd would reject is not an account that sovctl made.
            is_account = re.fullmatch(r"[a-z_][a-z0-9_-]{0,31}", name) is not None and name not in kept
            yield replace(made, variables={**made.variables, "lock": is_account})


def _query(context: Context, _node: Node) -> Query:
    names = [each.name for each in context.spec.host.administrators]
    return Query(
        hash=(f"{KEYS}/*", f"{SUDO}/sovctl-*"),
        read=tuple(path for name in names for path in (f"{KEYS}/{name}", f"{SUDO}/sovctl-{name}")),
        commands={"accounts": accounts_command(names)} if names else {},
    )


RESOURCE_TYPE = ResourceType("administrator", _expect, _observe, _query)
