"""Tokens: what leaves instead of an identifier.

Grammar: a label, `_`, sixteen characters: `IBAN_7K2M...`. Only `[A-Za-z0-9_]`, read without regard to case, so a
token survives JSON, markdown, URLs and tokenizers. The sixteen are

    13  keyed MAC over tenant, conversation, label and normalised value (64.4 bits): nobody can guess one, and the
        same value has another token in any other conversation, tenant or key version
     2  how the value was written: `00` for its normalised form, else a MAC over its spelling; so two spellings of one
        IBAN share their first thirteen characters, and each comes back exactly as it was
     1  check character over these; it catches every single wrong character (weights below the prime 31)

The label is for the reader: the sixteen characters alone say which token it is.

The alphabet leaves out I, L, O and U (read as 1, 1, 0, V) and Z (so that its size is a prime). Everything here is pure.

    mint = TokenIssuer(key, tenant="retail", conversation="c1")
    mint.token(EntityType.IBAN, "DE89370400440532013000", "DE89 3704 0044 0532 0130 00")     # "IBAN_..."
    mint.issued                                                                        # token -> how it was written
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
_TWO, _FOUR, _SIX, _TWELVE = (_BASE**characters for characters in (2, 4, 6, 12))  # how many there are of so many
_MAC_CHARACTERS, _FORM_CHARACTERS = 13, 2  # a form is one of `_PAIRS`
ID_CHARACTERS = _MAC_CHARACTERS + _FORM_CHARACTERS + 1
_FORMS = _BASE**_FORM_CHARACTERS
_WEIGHTS = range(2, ID_CHARACTERS + 1)  # of the check character; below the prime 31

_WEIGHED = [
    bytes(((place + 2) * (pair % _BASE) + (place + 3) * (pair // _BASE)) % _BASE for pair in range(_FORMS))
    for place in (0, 2, 4, 6, 8, 10, 12, 13)
]
"""What each pair adds to the sum of the check character, by the place where it begins; at 12 one character stands."""


class TokenIssuer:
    """Makes the tokens of one conversation of one tenant.

    Args:
        key: the site's, `KEY_BYTES` long.
        conversation: its name; any text, it never leaves.
        issued: what this conversation's tokens stand for so far, when that is known.
        key_version: part of every MAC, so that a new key makes new tokens.
        surrogates: kinds whose tokens are written in the form of what they stand for; see `surrogates`.
        generation: part of every MAC, so that after an erasure no token is made that was there before.
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
        self._key: HmacKey | None = None  # most requests need none
        self._issued = dict(issued) if issued else {}
        self.surrogates = surrogates
        self.about: dict[str, Collection[str]] = {}
        """Token -> the identifiers in what it stands for, so that a person's tokens can be found and erased."""

    @property
    def issued(self) -> Mapping[str, str]:
        """Every token of this conversation that is known here, in its canonical form, and what it stands for."""
        return self._issued

    def token(self, label: EntityType | Mark, value: str, surface: str, about: Collection[str] = ()) -> str:
        """The token of `value`, written as `surface`.

        Args:
            about: the identifiers in it.
        """
        mac = self._mac(_VALUE_OF[label], value)
        form = 0 if surface == value else 1 + self._mac(_FORM_OF[label], surface) % (_FORMS - 1)
        while True:
            token = "_".join((label, _id(mac, form)))
            # Two spellings of one value may meet in the same form (1 in 960); the later one then takes the next.
            if self._issued.setdefault(token, surface) == surface:
                if about:
                    self.about[token] = about
                return token
            form = form % (_FORMS - 1) + 1

    def _mac(self, purpose: bytes, text: str) -> int:
        key = self._key
        if key is None:
            key = self._key = HmacKey(_hmac_key(self._site_key).digest(_joined(*self._context)))
        return int.from_bytes(key.digest(purpose + _field(text))[:16])


_hmac_key = lru_cache(8)(HmacKey)  # of the site: a version or two


def number_of(body: str) -> int:
    """The number that the characters of a token stand for, lowest place first."""
    return sum(value * _BASE**place for place, value in enumerate(body.encode().translate(_VALUES)))


def check_character(body: str) -> str:
    """The last character of a token: a weighted sum by the prime 31.

    Args:
        body: what stands before it, of `ALPHABET`.
    """
    return ALPHABET[sum(map(mul, body.encode().translate(_VALUES), _WEIGHTS)) % _BASE]


def _id(mac: int, form: int) -> str:
    """The sixteen characters: the lowest thirteen places of `mac`, lowest first, the form and the check character."""
    low, high, g = mac % _SIX, mac // _SIX % _SIX, mac // _TWELVE % _BASE  # Python is quick with those below 2**30
    a, b, c = low % _TWO, low // _TWO % _TWO, low // _FOUR
    d, e, f = high % _TWO, high // _TWO % _TWO, high // _FOUR
    of_a, of_b, of_c, of_d, of_e, of_f, of_g, of_form = _WEIGHED
    check = of_a[a] + of_b[b] + of_c[c] + of_d[d] + of_e[e] + of_f[f] + of_g[g] + of_form[form]
    pairs, last = _PAIRS, ALPHABET[check % _BASE]
    return f"{pairs[a]}{pairs[b]}{pairs[c]}{pairs[d]}{pairs[e]}{pairs[f]}{ALPHABET[g]}{pairs[form]}{last}"


def _joined(*fields: str) -> bytes:
    """The fields, each after its length, so that no two lists of fields give the same bytes."""
    return b"".join(map(_field, fields))


def _field(text: str) -> bytes:
    data = text.encode()
    return len(data).to_bytes(4) + data


_VALUE_OF = {label: _joined("value", label) for label in LABELS}
_FORM_OF = {label: _joined("form", label) for label in LABELS}
"""What a MAC begins with, by label."""
