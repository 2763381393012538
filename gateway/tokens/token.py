"""Tokens, which replace identifiers in requests to clouds.

Grammar: a label, `_`, sixteen characters: `IBAN_7K2M...`. Only `[A-Za-z0-9_]`, case-insensitive, so a
token survives JSON, markdown, URLs and tokenizers. The sixteen characters are

    13  keyed MAC over tenant, conversation, label and normalised value (64.4 bits): it cannot be guessed, and the
        same value has another token in any other conversation, tenant or key version
    2   spelling of the value: `00` for its normalised form, else a MAC over its spelling; two spellings of one
        IBAN share their first thirteen characters, and each is restored as it was
    1   check character over these; it detects every single wrong character (weights below the prime 31)

The label is for the reader: the sixteen characters alone identify the token.

The alphabet excludes I, L, O and U (read as 1, 1, 0, V) and Z (so that its size is a prime). Everything here is pure.

issuer = TokenIssuer(key, tenant="retail", conversation="c1")
issuer.token(EntityType.IBAN, "DE89370400440532013000", "DE89 3704 0044 0532 0130 00")     # "IBAN_..."
issuer.issued                                                                      # token -> value as written
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from operator import mul

from sovctl.support.secret_files import KEY_BYTES

from ..domain.entities import LABELS, EntityType, Mark
from .hmac_key import HmacKey

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXY"
_BASE = len(ALPHABET)  # 31, a prime: see the check character
_VALUES = bytes.maketrans(ALPHABET.encode(), bytes(range(_BASE)))
_PAIRS = [low + high for high in ALPHABET for low in ALPHABET]
_TWO, _FOUR, _SIX, _TWELVE = (_BASE**characters for characters in (2, 4, 6, 12))  # number of strings of that length
_MAC_CHARACTERS, _FORM_CHARACTERS = 13, 2  # the form is one of `_PAIRS`
ID_CHARACTERS = _MAC_CHARACTERS + _FORM_CHARACTERS + 1
_FORMS = _BASE**_FORM_CHARACTERS
_WEIGHTS = range(2, ID_CHARACTERS + 1)  # of the check character; below the prime 31

_WEIGHED = [
    bytes(((place + 2) * (pair % _BASE) + (place + 3) * (pair // _BASE)) % _BASE for pair in range(_FORMS))
    for place in (0, 2, 4, 6, 8, 10, 12, 13)
]
"""Contribution of each pair to the sum of the check character, by its position; position 12 has one character."""


class TokenIssuer:
    """Issues the tokens of one conversation of one tenant.

    Args:
        key: the site's key, `KEY_BYTES` long.
        conversation: its key; any text, not sent to an upstream.
        issued: known tokens of this conversation with their values.
        key_version: part of every MAC, so that a new key issues new tokens.
        surrogates: entity types whose tokens are written as surrogates; see `surrogates`.
        generation: part of every MAC, so that no token is issued again after an erasure.
    """

    def __init__(
        self,
        key: bytes,
        *,
        tenant: str,
        conversation: str,
        issued: Mapping[str, str] | None = None,
        key_version: int = 1,
        surrogates: Collection[EntityType] = frozenset(),
        generation: int = 0,
    ) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"expected a key of {KEY_BYTES} bytes, got {len(key)}")
        self._site_key = key
        self._context = ("sovctl token v1", str(key_version), tenant, conversation, str(generation))
        self._key: HmacKey | None = None  # computed on first use; most requests need none
        self._issued = dict(issued) if issued else {}
        self.surrogates = surrogates
        self.has_conflicts = False
        """Two spellings of one value had the same form, so a token depends on the order in which they came."""
        self.about: dict[str, Collection[str]] = {}
        """Token -> the identifiers in its value, so that a person's tokens can be found and erased."""

    @property
    def issued(self) -> Mapping[str, str]:
        """All known canonical tokens of this conversation, with their values."""
        return self._issued

    def token(self, label: EntityType | Mark, value: str, surface: str, about: Collection[str] = ()) -> str:
        """Return the token of `value`, written as `surface`.

        Args:
            about: the identifiers in the value.
        """
        mac = self._mac(_VALUE_OF[label], value)
        form = 0 if surface == value else 1 + self._mac(_FORM_OF[label], surface) % (_FORMS - 1)
        while True:
            token = "_".join((label, _id(mac, form)))
            # Two spellings of one value may get the same form (1 in 960); the later one then uses the next form.
            if self._issued.setdefault(token, surface) == surface:
                if about:
                    self.about[token] = about
                return token
            form = form % (_FORMS - 1) + 1
            self.has_conflicts = True

    @property
    def context(self) -> tuple[str, ...]:
        """Everything but the key and the value that determines a token."""
        return self._context

    def repeat(self, token: str, surface: str, about: Collection[str]) -> bool:
        """Issue a token again that the same context has issued for this value.

        Returns:
            False if the token is another value's here.
        """
        if self._issued.setdefault(token, surface) != surface:
            return False
        if about:
            self.about[token] = about
        return True

    def _mac(self, purpose: bytes, text: str) -> int:
        key = self._key
        if key is None:
            key = self._key = HmacKey(_hmac_key(self._site_key).digest(_joined(*self._context)))
        return int.from_bytes(key.digest(purpose + _field(text))[:16])


_hmac_key = lru_cache(8)(HmacKey)  # one or two versions of the site's key


def number_of(body: str) -> int:
    """Return the number encoded by the characters of a token, lowest digit first."""
    return sum(value * _BASE**place for place, value in enumerate(body.encode().translate(_VALUES)))


def check_character(body: str) -> str:
    """Return the last character of a token: a weighted sum modulo 31.

    Args:
        body: the characters before it, from `ALPHABET`.
    """
    return ALPHABET[sum(map(mul, body.encode().translate(_VALUES), _WEIGHTS)) % _BASE]


def _id(mac: int, form: int) -> str:
    """Return the sixteen characters: the lowest thirteen digits of `mac`, lowest first, the form and the check
    character."""
    low, high, g = mac % _SIX, mac // _SIX % _SIX, mac // _TWELVE % _BASE  # arithmetic below 2**30 is fast in CPython
    a, b, c = low % _TWO, low // _TWO % _TWO, low // _FOUR
    d, e, f = high % _TWO, high // _TWO % _TWO, high // _FOUR
    of_a, of_b, of_c, of_d, of_e, of_f, of_g, of_form = _WEIGHED
    check = of_a[a] + of_b[b] + of_c[c] + of_d[d] + of_e[e] + of_f[f] + of_g[g] + of_form[form]
    pairs, last = _PAIRS, ALPHABET[check % _BASE]
    return f"{pairs[a]}{pairs[b]}{pairs[c]}{pairs[d]}{pairs[e]}{pairs[f]}{ALPHABET[g]}{pairs[form]}{last}"


def _joined(*fields: str) -> bytes:
    """Join the fields, each with its length, so that the encoding is unambiguous."""
    return b"".join(map(_field, fields))


def _field(text: str) -> bytes:
    data = text.encode()
    return len(data).to_bytes(4) + data


_VALUE_OF = {label: _joined("value", label) for label in LABELS}
_FORM_OF = {label: _joined("form", label) for label in LABELS}
"""First bytes of a MAC's input, by label."""
