"""What `sshd -T` says: the effective configuration of the ssh server, lower-case keys, one `key value` a line."""

from __future__ import annotations

from .unreadable import Unreadable


def parse_sshd(text: str) -> dict[str, str]:
    """First value by key, as sshd itself takes the first.

    Raises:
        Unreadable: nothing was printed, or a line has no value where every line must have one.
    """
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.strip().partition(" ")
        if key:
            values.setdefault(key.lower(), value.strip())
    if "pubkeyauthentication" not in values:
        raise Unreadable("sshd's effective configuration", text, where="sshd -T")
    return values
