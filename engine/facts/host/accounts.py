"""Accounts: the command that prints `name<TAB>passwd entry<TAB>groups<TAB>status of the password`, and its parser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..numbers import integer
from ..unreadable import Unreadable

_PASSWD_FIELDS = 7  # passwd(5)

# `passwd --status` prints L (locked or none), P (usable) or NP (empty). It does not print the hash.
_SCRIPT = """for name do
  entry=$(getent passwd "$name") || continue
  printf '%s\\t%s\\t%s\\t%s\\n' "$name" "$entry" "$(id -nG "$name")" "$(passwd --status "$name" | cut -d' ' -f2)"
done"""


def accounts_command(names: Sequence[str]) -> list[str]:
    """Return the read-only command whose output `parse_accounts` reads. It prints nothing for an absent account."""
    return ["sh", "-c", _SCRIPT, "sh", *names]


@dataclass(frozen=True, slots=True)
class Account:
    """A local account. `groups` contains the primary group too."""

    uid: int
    shell: str
    groups: tuple[str, ...]
    has_password: bool


def parse_accounts(text: str) -> dict[str, Account]:
    """Return the existing accounts by name.

    Raises:
        Unreadable: a line has another form, or the status of the password is unknown.
    """
    found = {}
    for line in text.splitlines():
        name, *fields = line.split("\t")
        entry = fields[0].split(":") if len(fields) == 3 else []
        if len(entry) != _PASSWD_FIELDS or not entry[2].isdecimal() or fields[2] not in ("L", "LK", "P", "PS", "NP"):
            raise Unreadable("name, passwd entry, groups and password status", line, where="getent passwd")
        # shadow-utils prints L and P; the passwd of RHEL 9 prints LK and PS. NP is an empty password.
        found[name] = Account(integer(entry[2]), entry[6], tuple(fields[1].split()), fields[2] not in ("L", "LK"))
    return found
