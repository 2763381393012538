"""Parser of `sshd -T`: the effective configuration of the ssh server, one `key value` on each line."""

from __future__ import annotations

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
