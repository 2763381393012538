"""Ed25519 in pure Python returns the result of OpenSSL for every input, and the vectors of RFC 8032."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.compliance import ed25519
from sovctl.compliance.signing import LibraryVerifyKey, SigningKey
from sovctl.compliance.verify_key import BadSignature, VerifyKey, parse_vkey
from sovctl.support.errors import InputError

# RFC 8032, 7.1: public key, message, signature of TEST 1, TEST 2, TEST 3 and TEST SHA(abc).
VECTORS = {
    "TEST 1": (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
            "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    "TEST 2": (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
    "TEST 3": (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        (
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
            "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ),
    ),
    "TEST SHA(abc)": (
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        hashlib.sha512(b"abc").hexdigest(),
        (
            "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b589"
            "09351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704"
        ),
    ),
}
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
KEY = SigningKey.generate()
MESSAGE = b"message"
SIGNATURE = KEY.sign(MESSAGE)
SMALL = sorted(ed25519._small_order_y())
SIGN = 1 << 255


def point(y: int) -> bytes:
    return y.to_bytes(32, "little")


def accepts(key_type: type[VerifyKey], key: bytes, message: bytes, signature: bytes) -> bool:
    try:
        key_type(key).verify(message, signature)
    except BadSignature:
        return False
    return True


def verdict(key: bytes, message: bytes, signature: bytes) -> bool:
    """The common result of both implementations."""
    pure = accepts(VerifyKey, key, message, signature)
    assert pure == accepts(LibraryVerifyKey, key, message, signature)
    return pure


@pytest.mark.parametrize("name", VECTORS)
def test_accepts_the_vectors_of_rfc_8032_and_no_changed_byte_of_them(name: str) -> None:
    key, message, signature = (bytes.fromhex(each) for each in VECTORS[name])
    assert verdict(key, message, signature)
    for at in range(64):
        changed = bytearray(signature)
        changed[at] ^= 1
        assert not verdict(key, message, bytes(changed))
    assert not verdict(key, message + b"x", signature)


def test_rejects_a_second_signature_of_a_message() -> None:
    r, s = SIGNATURE[:32], int.from_bytes(SIGNATURE[32:], "little")
    for multiple in range(1, 15):
        if s + multiple * L < 2**256:
            assert not verdict(KEY.public.raw, MESSAGE, r + point(s + multiple * L))


@pytest.mark.parametrize("sign", [0, SIGN])
@pytest.mark.parametrize("y", [*SMALL, *(y + P for y in SMALL if y + P < SIGN)])
def test_rejects_keys_of_small_order_in_every_encoding(y: int, sign: int) -> None:
    """With such a key, S = 0 and R = the identity is a valid signature of many messages for OpenSSL alone."""
    key = point(y + sign)
    assert not ed25519.is_safe_key(key)
    for r in (point(1), point(1 + P), point(1 + SIGN), key):
        for number in range(8):
            assert not verdict(key, b"%d" % number, r + bytes(32))


def test_rejects_other_encodings_of_the_public_key_and_of_r() -> None:
    low = [y for y in range(19) if ed25519._decode(point(y)) is not None and y not in SMALL]
    assert low  # points with a second encoding of y exist, and are neither on the list of small orders
    for y in low:
        assert not ed25519.is_safe_key(point(y + P))
        assert not verdict(point(y + P), MESSAGE, SIGNATURE)
    # The signature (identity, k * a) is valid for the cofactorless equation; only one encoding of the identity counts.
    for y in (1 + P, 1 + SIGN):
        assert not verdict(KEY.public.raw, MESSAGE, point(y) + SIGNATURE[32:])


@pytest.mark.parametrize("length", [0, 1, 31, 33, 64])
def test_rejects_keys_of_other_lengths(length: int) -> None:
    assert not ed25519.is_safe_key(bytes(length))
    assert not verdict((KEY.public.raw * 2)[:length], MESSAGE, SIGNATURE)


@pytest.mark.parametrize("length", [0, 32, 63, 65, 128])
def test_rejects_signatures_of_other_lengths(length: int) -> None:
    assert not verdict(KEY.public.raw, MESSAGE, (SIGNATURE * 2)[:length])


def test_rejects_a_key_that_is_not_on_the_curve() -> None:
    off = next(y for y in range(2, 50) if ed25519._decode(point(y)) is None)
    assert not verdict(point(off), MESSAGE, SIGNATURE)


@given(st.binary(max_size=200), st.integers(0, 95), st.integers(0, 7))
@examples(40)
def test_both_implementations_agree_on_signatures_and_on_every_flipped_bit(message: bytes, at: int, bit: int) -> None:
    signature = KEY.sign(message)
    assert verdict(KEY.public.raw, message, signature)
    changed = bytearray(KEY.public.raw + signature)
    changed[at] ^= 1 << bit
    assert not verdict(bytes(changed[:32]), message, bytes(changed[32:]))


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=20), st.binary(min_size=64, max_size=64))
@examples(40)
def test_both_implementations_agree_on_random_bytes(key: bytes, message: bytes, signature: bytes) -> None:
    verdict(key, message, signature)


def test_a_key_with_a_component_of_small_order_has_the_same_result() -> None:
    """A key A + T, with T of order 8: the equation without cofactor holds for one message in eight."""
    torsion = ed25519._decode(point(SMALL[-2]))
    own = ed25519._decode(KEY.public.raw)
    assert torsion is not None
    assert own is not None
    mixed = ed25519._encode(ed25519._add(own, torsion))
    assert ed25519.is_safe_key(mixed)
    for number in range(24):
        verdict(mixed, b"%d" % number, SIGNATURE)


def test_a_verifier_key_of_small_order_is_refused() -> None:
    with pytest.raises(InputError, match="not a safe Ed25519 key"):
        parse_vkey(VerifyKey(point(1)).vkey("log"))


def test_keys_of_both_implementations_are_equal() -> None:
    name, pure = parse_vkey(KEY.public.vkey("log"))
    assert (name, pure, hash(pure)) == ("log", KEY.public, hash(KEY.public))
    assert pure != SigningKey.generate().public
