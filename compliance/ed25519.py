"""Ed25519 signature verification in pure Python (RFC 8032, 5.1.7), for a verifier without packages.

A signature is valid if all of these hold. `signing` checks the key with `is_safe_key` and then uses OpenSSL, which
applies the rest, so that both implementations return the same result for every input:

- The signature has 64 bytes, and S is below the group order L (RFC 8032 8.4: no second signature of a message).
- The public key has 32 bytes, encodes y below the field prime, is on the curve, and has no small order.
- The encoding of [S]B - [k]A equals the 32 bytes of R. The comparison of bytes rejects other encodings of R; the
  cofactor is not used.

Verification uses public data only, so its time may depend on the input. One verification takes about 4 ms.
"""

from __future__ import annotations

import hashlib

KEY_BYTES, SIGNATURE_BYTES = 32, 64

_Point = tuple[int, int, int, int]
"""Extended homogeneous coordinates X, Y, Z, T with x = X/Z, y = Y/Z, x * y = T/Z (RFC 8032 5.1.4)."""

_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493  # group order, RFC 8032 5.1
_D = -121665 * pow(121666, -1, _P) % _P
_SQRT_M1 = pow(2, (_P - 1) // 4, _P)
_IDENTITY: _Point = (0, 1, 1, 0)
_SIGN = 1 << 255
_WINDOW = 4  # bits per step of the scalar multiplication


def verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether `signature` is a valid signature of `message`; see the rules of this module."""
    if len(signature) != SIGNATURE_BYTES or not is_safe_key(public_key):
        return False
    s = int.from_bytes(signature[32:], "little")
    point = _decode(public_key)
    if s >= _L or point is None:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + public_key + message).digest(), "little") % _L
    x, y, z, t = point
    return _encode(_add(_multiply(s, _BASE), _multiply(k, (-x % _P, y, z, -t % _P)))) == signature[:32]


def is_safe_key(public_key: bytes) -> bool:
    """Return whether a public key has 32 bytes, a canonical y coordinate, and no small order.

    Does not check that the point is on the curve.
    """
    y = int.from_bytes(public_key, "little") & (_SIGN - 1)
    return len(public_key) == KEY_BYTES and y < _P and y not in _SMALL_ORDER_Y


def _decode(data: bytes) -> _Point | None:
    """Return the point of a canonical encoding; None if it is not on the curve (RFC 8032 5.1.3)."""
    value = int.from_bytes(data, "little")
    y, is_odd = value & (_SIGN - 1), value >> 255
    u, v = (y * y - 1) % _P, (_D * y * y + 1) % _P
    x = u * pow(v, 3, _P) * pow(u * pow(v, 7, _P), (_P - 5) // 8, _P) % _P
    if v * x * x % _P != u:
        x = x * _SQRT_M1 % _P
        if v * x * x % _P != u:
            return None
    if x & 1 != is_odd:
        x = -x % _P
    return x, y, 1, x * y % _P


def _encode(point: _Point) -> bytes:
    x, y, z, _ = point
    inverse = pow(z, -1, _P)
    return ((y * inverse % _P) | (x * inverse % _P & 1) << 255).to_bytes(KEY_BYTES, "little")


def _add(first: _Point, second: _Point) -> _Point:
    """Return the sum of two points (RFC 8032 5.1.4). The formulas are complete: they also double."""
    x1, y1, z1, t1 = first
    x2, y2, z2, t2 = second
    a, b = (y1 - x1) * (y2 - x2) % _P, (y1 + x1) * (y2 + x2) % _P
    c, d = 2 * _D * t1 * t2 % _P, 2 * z1 * z2 % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _double(point: _Point) -> _Point:
    x, y, z, _ = point
    a, b = x * x % _P, y * y % _P
    h, g = a + b, a - b
    e, f = h - (x + y) * (x + y), 2 * z * z + g
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _multiply(scalar: int, point: _Point) -> _Point:
    """Return [scalar]point, with a table of the first multiples."""
    table = [_IDENTITY]
    for _ in range((1 << _WINDOW) - 1):
        table.append(_add(table[-1], point))
    result = _IDENTITY
    for shift in reversed(range(0, 256, _WINDOW)):
        for _ in range(_WINDOW):
            result = _double(result)
        if digit := scalar >> shift & ((1 << _WINDOW) - 1):
            result = _add(result, table[digit])
    return result


def _small_order_y() -> frozenset[int]:
    """Return the y coordinates of the eight points whose order divides 8."""
    # Doubling a point of order 8 gives a point of order 4, which has y = 0. For a = -1, y of the double is
    # (y^2 + x^2) / (1 - d * x^2 * y^2); with x^2 = -y^2 the curve equation is d * y^4 + 2 * y^2 - 1 = 0.
    y_squares = [(-1 + sign * _root(1 + _D)) * pow(_D, -1, _P) % _P for sign in (1, -1)]
    order_8 = [_root(square) for square in y_squares if pow(square, (_P - 1) // 2, _P) == 1]
    return frozenset({0, 1, _P - 1} | {sign * y % _P for y in order_8 for sign in (1, -1)})


def _root(square: int) -> int:
    """Return a square root modulo p."""
    root = pow(square, (_P + 3) // 8, _P)
    return root if root * root % _P == square % _P else root * _SQRT_M1 % _P


_SMALL_ORDER_Y = _small_order_y()
_BASE_Y = 4 * pow(5, -1, _P) % _P
_base = _decode(_BASE_Y.to_bytes(KEY_BYTES, "little"))
assert _base is not None
_BASE: _Point = _base
