"""Header fields of a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..domain.errors import Code, Headers, Refused
from ..http.timeout_header import OWN_HEADER, SDK_HEADER, timeout_s

Fields = Mapping[bytes, bytes]
"""Header fields by lower-case name."""


def fields_of(headers: Headers) -> Fields:
    """Return the fields by name; the first of several with the same name."""
    return dict(reversed(headers))


def text_of(value: bytes | None) -> str | None:
    """Return the value of a field as text."""
    return value.decode("latin-1") if value is not None else None


def named(fields: Fields, names: Iterable[str]) -> dict[str, str]:
    """Return the fields of these names; an absent one is empty."""
    return {name: text_of(fields.get(name.encode())) or "" for name in names}


def sole(headers: Headers, fields: Fields, name: bytes) -> str | None:
    """Return a field on which access depends. It may occur once, because a proxy may have read another occurrence.

    Raises:
        Refused: the field occurs twice, with different values.
    """
    value = fields.get(name)
    if value is None:
        return None
    if len(fields) < len(headers) and any(key == name and other != value for key, other in headers):
        raise Refused(Code.INVALID_REQUEST, param=name.decode())
    return value.decode("latin-1")


def first_byte_timeout_s(fields: Fields, *, at_most_s: float) -> float:
    """Return the timeout for the first byte of the answer: the client's, or `at_most_s` if that is shorter.

    Raises:
        Refused: the client's header is not a duration.
    """
    own, sdk = fields.get(OWN_HEADER), fields.get(SDK_HEADER)
    if own is None and sdk is None:
        return at_most_s
    try:
        return timeout_s(own=text_of(own), sdk=text_of(sdk), at_most_s=at_most_s)
    except ValueError:
        raise Refused(Code.INVALID_TIMEOUT) from None
