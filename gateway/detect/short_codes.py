"""Codes of a few digits that only their name makes secret: PINs, card verification codes, one-time passwords.

    "my PIN is 4821", "CVV: 123", "the OTP 482913", "mTAN=593021"

Three to eight digits are in every text, so the name stands right before them, joined by no more than a sign or a verb.
A name that is also a word (pin, tan) needs one of those, or capitals.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sovctl.gateway.detect.finding import Finding
from sovctl.gateway.detect.scan import Pattern
from sovctl.gateway.detect.surroundings import Surroundings
from sovctl.gateway.kinds import Kind

_RULE, _SCORE = "SECRET_CODE", 0.85
_WORDS = ("pin", "tan", "ПИН", "пин", "Пин")  # means something else as well, so it needs a joint or capitals
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
)
_IS = "is|was|ist|lautet|war|est|es|è|é|jest|adalah|dır|on|är|er|je|είναι|это|هو|هي|是|は|는|은|:|=|#|->|→"
_JOINT = (
    rf"[\"'`*)\]]{{0,3}}(?:</[a-z]{{1,6}}>|\.{{3,8}}|_{{3,8}})?(?:[ \t]{{0,3}}(?:{_IS}))?"
    r"[ \t\"'`*(\[<>:|;/№–—-]{0,5}\n?"
)
_CODE = re.compile(
    rf"(?:(?P<word>{'|'.join(_WORDS)})|{'|'.join(sorted(_NAMES, key=len, reverse=True))})"
    rf"(?P<joint>{_JOINT})(?P<code>[0-9]{{3}}[ -][0-9]{{3}}|[0-9]{{3,8}})(?![0-9A-Za-z]|[.,:/-][0-9])",
    re.IGNORECASE,
)
_HEAD = re.compile(rf"(?:.{{0,20}}[ _])?(?:{'|'.join((*_WORDS, *_NAMES))})", re.IGNORECASE)
_SAID = re.compile(rf"(?:{_IS}|[|\t№→])", re.IGNORECASE)
_FEWEST_BY_WORD = 4  # digits behind a word that means something else too: "pin 12", "pin: 103"


def names_a_code(head: str) -> bool:
    """Whether the header of a column is one of the names."""
    return _HEAD.fullmatch(head) is not None


class ShortCodeRecognizer:
    """Finds PINs, card verification codes and one-time passwords."""

    rules = (_RULE,)

    @property
    def patterns(self) -> Sequence[Pattern]:
        """The names; of the words, those with a number behind them."""
        words = "|".join(_WORDS)
        return [Pattern("|".join(_NAMES)), Pattern(rf"(?:{words})[^0-9A-Za-z\n]{{1,8}}(?:[a-z]{{1,6}} )?[0-9]{{4}}")]

    def at(self, text: str, start: int, _pattern: int, _around: Surroundings) -> Finding | None:
        """The code whose name begins at `start`."""
        match = _CODE.match(text, start)
        if match is None or (start and text[start - 1].isalpha() and text[start].isascii()):
            return None
        first, end = match.span("code")
        if match["word"] and not (
            end - first >= _FEWEST_BY_WORD and (match["word"].isupper() or _SAID.search(match["joint"]))
        ):
            return None
        return Finding(first, end, Kind.SECRET, _SCORE, match["code"], _RULE)
