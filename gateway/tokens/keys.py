"""The site's token keys: the current version issues tokens; older versions stay valid for existing conversations.

A conversation keeps the version it began with until it expires, so its tokens stay the same and can be restored. Under
another version it counts as another conversation, without stored values. An older key may be removed from the settings
when `sovctl gateway vault status` shows no conversation of its version.

keys = load_token_keys(settings)
keys.token, keys.conversation, keys.audit       # derived, one for each purpose
keys.of(1).token                                # of an older version
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field

from sovctl.support.secret_files import read_key

from ..settings import GatewaySettings


@dataclass(frozen=True)
class TokenKeys:
    """Keys derived from one version of the site's token key, with the older versions."""

    token: bytes = field(repr=False)
    conversation: bytes = field(repr=False)
    audit: bytes = field(repr=False)
    admin: bytes = field(repr=False)
    salt: bytes = field(repr=False)
    version: int = 1
    older: tuple[TokenKeys, ...] = ()

    @classmethod
    def derive(cls, key: bytes, *, version: int = 1, older: tuple[TokenKeys, ...] = ()) -> TokenKeys:
        """Derive the keys of all purposes from one key."""
        token, conversation, audit, admin, salt = (
            hmac.digest(key, f"sovctl {use} v1".encode(), hashlib.sha256) for use in ("t", "c", "a", "admin", "salt")
        )
        return cls(token, conversation, audit, admin, salt, version, older)

    def of(self, version: int) -> TokenKeys:
        """Return the keys of a version.

        Raises:
            KeyError: the settings do not list it.
        """
        for keys in (self, *self.older):
            if keys.version == version:
                return keys
        raise KeyError(version)


def load_token_keys(settings: GatewaySettings) -> TokenKeys:
    """Return the current keys of the settings, which contain the older ones.

    Raises:
        InputError: a key file is unreadable.
    """
    current, *older = settings.all_token_keys
    return TokenKeys.derive(
        read_key(current.file),
        version=current.version,
        older=tuple(TokenKeys.derive(read_key(each.file), version=each.version) for each in older),
    )
