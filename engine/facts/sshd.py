"""Parser of `sshd -T`: the effective configuration of the ssh server, one `key value` on each line."""

from __future__ import annotations

import re

from .unreadable import Unreadable


def parse_sshd(text: str) -> dict[str, str]:
    """Return the first value of each key; sshd also uses the first. Keys are in lower case.

    Raises:
        Unreadable: the output is empty, or not a configuration of sshd.
    """
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.strip().partition(" ")
        if key:
            values.setdefault(key.lower(), value.strip())
    if "pubkeyauthentication" not in values:
        raise Unreadable("sshd's effective configuration", text, where="sshd -T")
    return values


def parse_logins(text: str) -> dict[str, dict[str, str]]:
    """Parse blocks of `sshd -T -C`, each after a line `## user address`.

    Returns:
        Values by login, in the order printed. The values of a login are empty if its command failed.

    Raises:
        Unreadable: the output contains no login, or a block has another format.
    """
    blocks = re.split(r"(?m)^## ", text)[1:]
    if not blocks:
        raise Unreadable("a line `## user address` for each login", text, where="sshd -T")
    found = {}
    for block in blocks:
        login, _, values = block.partition("\n")
        found[login.strip()] = parse_sshd(values) if values.strip() else {}
    return found
