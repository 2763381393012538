"""The site's token keys: the current version makes tokens, older ones go on in conversations that began under them.

A conversation keeps the version it began with until it expires, so its tokens stay the same and go on restoring; to
any other version it is another conversation, of which nothing can be restored. An older key may be taken out of the
settings when no conversation of its version lives any more: `sovctl gateway vault status` says so.

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
    """One version of the site's token key, as what is derived from it; and the older ones."""

    token: bytes = field(repr=False)
    conversation: bytes = field(repr=False)
    audit: bytes = field(repr=False)
    admin: bytes = field(repr=False)
    salt: bytes = field(repr=False)
    version: int = 1
    older: tuple[TokenKeys, ...] = ()

    @classmethod
    def derive(cls, key: bytes, *, version: int = 1, older: tuple[TokenKeys, ...] = ()) -> TokenKeys:
        """All keys from one."""
        token, conversation, audit, admin, salt = (
            hmac.digest(key, f"sovctl {use} v1".encode(), hashlib.sha256) for use in ("t", "c", "a", "admin", "salt")
        )
        return cls(token, conversation, audit, admin, salt, version, older)

    def of(self, version: int) -> TokenKeys:
        """The keys of a version.

        Raises:
            KeyError: the settings do not list it.
        """
        for keys in (self, *self.older):
            if keys.version == version:
                return keys
        raise KeyError(version)


def load_token_keys(settings: GatewaySettings) -> TokenKeys:
    """The keys that the settings name, the current one with the older ones in it.

    Raises:
        InputError: one can't be read.
    """
    current, *older = settings.all_token_keys
    return TokenKeys.derive(
        read_key(current.file),
        version=current.version,
        older=tuple(TokenKeys.derive(read_key(each.file), version=each.version) for each in older),
    )
