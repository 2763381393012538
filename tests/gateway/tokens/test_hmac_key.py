"""Our HMAC-SHA-256 is the one of the standard library: any key, any text, whole or in pieces."""

from __future__ import annotations

import hmac

from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.tokens.hmac_key import HmacKey


@given(st.binary(max_size=200), st.lists(st.binary(max_size=200), max_size=4))
def test_digests_are_those_of_hmac(secret: bytes, pieces: list[bytes]) -> None:
    key, expected = HmacKey(secret), hmac.digest(secret, b"".join(pieces), "sha256")
    assert key.digest(b"".join(pieces)) == expected
    running = key.begin()
    for piece in pieces:
        running.update(piece)
    assert running.hexdigest() == expected.hex()


def test_a_key_does_not_show_itself() -> None:
    assert "secret" not in repr(HmacKey(b"secret")) + repr(HmacKey(b"secret").begin())
