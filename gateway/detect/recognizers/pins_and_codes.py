"""Recognizes short codes by their name: PINs, card verification codes, one-time passwords.

    "my PIN is 4821", "CVV: 123", "the OTP 482913", "mTAN=593021", "the CVV of my card is 123", "388 is my CVV"

Every text contains numbers of three to eight digits. So the name must be directly before the number, joined by a sign
or a verb and the object of the code, or directly after it, following a verb. A name that is also a common word (pin,
tan) requires one of these, or capitals.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...domain.entities import EntityType
from ..context.surroundings import TextContext
from ..findings.finding import Finding
from ..text.scanner import Pattern

_RULE, _SCORE = "SECRET_CODE", 0.85
_WORDS = (
    "pin",
    "tan",
    "the code",
    "my code",
    "your code",
    "der code",
    "le code",
    "ПИН",
    "пин",
    "Пин",
)  # means something else as well, so it needs a joint or capitals
_NAMES = (
    *(
        "pin[ -]?code",
        "pin[ -]?number",
        "(?:credit)?(?:card)?cvv2?",
        "(?:credit)?(?:card)?cvc2?",
        "csc",
        "cvn",
        "card verification (?:code|number|value)",
    ),
    *("security code", "verification code", "one[ -]?time (?:pass)?code", "one[ -]?time password", "otp(?: code)?"),
    *("authentication code", "sms code", "2fa code", "mfa code", "m-?tan", "sms-?tan", "photo-?tan", "chip-?tan"),
    *(
        "pinkode",
        "pin-kode",
        "pin-kod",
        "pin-koodi",
        "pin kodu",
        "pincode",
        "cod pin",
        "code pin",
        "ПІН-код",
        "ПИН код",
        "PIN код",
        "PIN-kód",
        "pin-kód",
    ),
    *("sikkerhetskode", "sikkerhedskode", "κωδικός PIN", "код за сигурност"),
    *("geheimzahl", "prüfziffer der karte", "kartenprüfnummer", "sicherheitscode", "bestätigungscode"),
    *("code secret", "code confidentiel", "code de sécurité", "code de vérification", "cryptogramme"),
    *("código de seguridad", "código de verificación", "clave de un solo uso", "código de segurança"),
    *("código de verificação", "codice di sicurezza", "codice di verifica", "codice pin", "beveiligingscode"),
    *("verificatiecode", "kod pin", "kod weryfikacyjny", "kod bezpieczeństwa", "güvenlik kodu", "doğrulama kodu"),
    *(
        "kode otp",
        "kode verifikasi",
        "kode keamanan",
        "nomor pin",
        "ПИН-код",
        "пин-код",
        "Пин-код",
        "код подтверждения",
    ),
    *("код безопасности", "код из смс", "растау коды", "رمز التحقق", "رمز الأمان", "الرقم السري", "رمز التأكيد"),
    *("验证码", "驗證碼", "安全码", "暗証番号", "認証コード", "인증번호", "보안코드", "säkerhetskod", "engangskode"),
    *("turvakoodi", "tunnusluku", "bezpečnostní kód", "ověřovací kód", "biztonsági kód", "cod de securitate"),
    *("κωδικός ασφαλείας", "код безпеки", "код підтвердження"),
    *(
        "(?:code|number|digits) on the (?:back|rear|reverse|front)(?: of (?:the|my|your) (?:[a-z]{1,8} )?card)?",
        "(?:code|nummer|zahl|ziffern) auf der (?:karten)?rückseite(?: (?:der|meiner|ihrer) karte)?",
        "(?:code|chiffres|numéro) au (?:dos|verso)(?: de (?:la|ma|sa|votre) carte)?",
        "(?:código|números|dígitos|cifras) (?:del|al|en el) (?:reverso|dorso)(?: de (?:la|mi|su) tarjeta)?",
        "(?:codice|cifre|numero) sul retro(?: della (?:mia |sua )?carta)?",
        "(?:código|números|dígitos) (?:no|do) verso(?: do (?:meu |seu )?cartão)?",
        "(?:code|cijfers|nummer) op de achterkant(?: van (?:de|mijn|uw) (?:kaart|pas))?",
        "(?:kod|cyfry|numer) (?:z tyłu|na odwrocie)(?: karty)?",
        "(?:код|Код|цифры|Цифры) на (?:обороте|обратной стороне)(?: (?:моей )?карты)?",
        "kart(?:ın|ımın) arkasındaki (?:kod|numara)",
        "(?:kode|angka|nomor) di belakang kartu(?: saya)?",
    ),
)
_VERBS = (
    "is|was|are|were|reads|says|shows|ist|lautet|war|sind|est|sont|es|son|è|é|sono|são|jest|to|adalah|dır|on|är|er|je"
    "|zijn|είναι|это|هو|هي|是|は|는|은"
)
_IS = rf"{_VERBS}|:|=|#|->|→"
_OF = (
    "for|of|on|to|from|für|zu|von|zur|zum|der|des|pour|de|du|para|per|della|del|do|da|voor|van|dla|для|от|к|untuk|için"
)
_JOINT = (
    rf"(?:[ ](?:{_OF})[ ][^0-9\n.:;?!]{{1,32}}?(?=[ ](?:{_VERBS})[ ]|[:=]))?"
    rf"[\"'`*)\]]{{0,3}}(?:</[a-z]{{1,6}}>|\.{{3,8}}|_{{3,8}})?(?:[ \t]{{0,3}}(?:{_IS}))?"
    r"[ \t\"'`*(\[<>:|;/№–—-]{0,5}\n?"
)
_CODE = re.compile(
    rf"(?:(?P<word>{'|'.join(_WORDS)})|{'|'.join(sorted(_NAMES, key=len, reverse=True))})"
    rf"(?P<joint>{_JOINT})(?P<code>[0-9]{{3}}[ -][0-9]{{3}}|[0-9]{{3,8}})(?![0-9A-Za-z]|[.,:/-][0-9])",
    re.IGNORECASE,
)
_AS = "as|als|comme|como|come|jako|как|мой"
# "388 is my CVV", "Is 388 the CVV?", "use 4821 as the PIN": digits, and a verb on either side of them.
_BEFORE = re.compile(
    rf"(?:(?<![\w.])(?:{_VERBS}|use|enter|type|try|take)[ ](?P<asked>[0-9]{{3,8}})(?:[ ][^\W\d_]{{1,8}}){{1,3}}"
    rf"|(?<![\w.,:/-])(?P<said>[0-9]{{3,8}})[\"')]?(?:,|[ ]?[–—-]|[ ]?=)?[ ](?:that's|thats|{_VERBS}|{_AS})"
    rf"(?:[ ][^\W\d_]{{1,8}}){{0,3}})[ ][\"'(]?\Z",
    re.IGNORECASE,
)
_REACH = 48  # characters before a name
_HEAD = re.compile(rf"(?:.{{0,20}}[ _])?(?:{'|'.join((*_WORDS, *_NAMES))})", re.IGNORECASE)
_NAMED = re.compile(rf"(?<![^\W\d_])(?:{'|'.join((*_WORDS, *_NAMES))})", re.IGNORECASE)
# A following word changes the meaning: "1024 is the pin count".
_WORD = re.compile(
    rf"(?<!\w)(?:{'|'.join(_WORDS)})(?![\w-]|[ ](?!(?:for|of|to|on|and|please|now|für|und|bitte|thanks)(?!\w))[a-z])",
    re.IGNORECASE,
)
_WORD_BEHIND = 2  # of the patterns
_SAID = re.compile(rf"(?:{_IS}|[|\t№→])", re.IGNORECASE)
_FEWEST_BY_WORD = 4  # digits after a word with other meanings: "pin 12", "pin: 103"


def names_a_code(head: str) -> bool:
    """Return whether the header of a column is one of the names."""
    return _HEAD.fullmatch(head) is not None


def has_code_name(label: str) -> bool:
    """Return whether a label contains one of the names."""
    return _NAMED.search(label) is not None


class ShortCodeRecognizer:
    """Finds PINs, card verification codes and one-time passwords."""

    rules = (_RULE,)

    @property
    def patterns(self) -> Sequence[Pattern]:
        """The names; of the words, those with a number after them."""
        words = "|".join(_WORDS)
        return [
            Pattern("|".join(form for name in _NAMES for form in _forms(name))),
            Pattern(rf"(?:{words})[^0-9A-Za-z\n]{{1,8}}(?:[a-z]{{1,6}} )?[0-9]{{4}}"),
            Pattern(rf"[a-z\x80-\xff][ '\"](?:{words})(?:[^0-9A-Za-z\x80-\xff]|$)"),
        ]

    def at(self, text: str, start: int, pattern: int, _around: TextContext) -> Finding | None:
        """Return the code whose name begins at `start`, or that precedes a name there."""
        if pattern == _WORD_BEHIND:
            word = next(filter(None, (_WORD.match(text, place) for place in (start + 1, start + 2))), None)
            return _before(text, word.start()) if word else None
        if start and text[start - 1].isalpha() and text[start].isascii():
            return None
        match = _CODE.match(text, start)
        if match is None:
            return _before(text, start)
        first, end = match.span("code")
        if match["word"] and not (
            end - first >= _FEWEST_BY_WORD and (match["word"].isupper() or _SAID.search(match["joint"]))
        ):
            return None
        return Finding(first, end, EntityType.SECRET, _SCORE, match["code"], _RULE)


def _forms(name: str) -> list[str]:
    """Return the name in the form the scanner requires; it ignores case for ASCII only."""
    if name.isascii():
        return [name]
    return sorted({name, name[:1].upper() + name[1:], *([] if "?" in name else [name.upper()])})


CODE_NAMES = "|".join(form for name in (*_WORDS, *_NAMES) for form in _forms(name))
"""Where one of the names may begin, for a scanner."""


def _before(text: str, name: int) -> Finding | None:
    """Return the code directly before the name at `text[name]`."""
    match = _BEFORE.search(text, max(0, name - _REACH), name)
    if match is None:
        return None
    group = "asked" if match["asked"] else "said"
    return Finding(*match.span(group), EntityType.SECRET, _SCORE, match[group], _RULE)
