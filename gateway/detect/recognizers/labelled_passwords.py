"""Recognizes labelled passwords and keys: "password: X", "<pwd>X</pwd>", "mot de passe est X", "X as the password".

    span = named_secret('db_password = "hunter2$"', 3)       # (15, 23)

The stronger the link between word and value, the weaker the requirements on the value. After a colon or an equals sign
nearly any value counts; after a verb the value must not be a common word. Without a link, or before the word, it must
mix character classes as generated secrets do. Names and calls in source code do not count.
"""

from __future__ import annotations

import re
import unicodedata

_WORDS = (
    *(
        "password",
        "passwd",
        "passphrase",
        "passcode",
        "passkey",
        "pass",
        "pwd",
        "pw",
        "secret",
        "credential",
        "credentials",
    ),
    *(
        "api[_ -]?key",
        "access[_ -]?key",
        "access[_ -]?token",
        "auth[_ -]?key",
        "auth[_ -]?token",
        "token",
        "pin[_ -]?code",
    ),
    *(
        "client[_ -]?secret",
        "private[_ -]?key",
        "secret[_ -]?key",
        "encryption[_ -]?key",
        "account[_ -]?key",
        "subscription[_ -]?key",
    ),
    *("jsessionid", "phpsessid", r"asp\.net_sessionid", r"connect\.sid"),
    *("sharedaccesskey", "kennwort", "passwort", "zugangscode", "mot de passe", "contraseña", "contrasena", "clave"),
    *("hasło", "haslo", "hasła", "wachtwoord", "parola", "şifre", "şifresi", "sifre", "senha", "palavra-passe"),
    *("kata sandi", "sandi", "құпиясөз", "құпия сөз", "пароль", "пароля", "паролем", "пароле", "кодовое слово"),
    *(
        "lösenord",
        "adgangskode",
        "kodeord",
        "passord",
        "salasana",
        "heslo",
        "jelszó",
        "parolă",
        "parola d'ordine",
        "lozinka",
        "geslo",
    ),
    *("slaptažodis", "parool", "парола", "συνθηματικό", "κωδικός πρόσβασης", "κωδικό πρόσβασης", "סיסמה", "סיסמא"),
    *("كلمة المرور", "كلمة السر", "رمز الدخول", "رمز عبور", "密码", "密碼", "口令", "パスワード", "비밀번호", "암호"),
    *("mima", "รหัสผ่าน", "पासवर्ड", "mật khẩu"),
)
# Words that mean much else: only what a sign joins to them counts.
_NEED_SIGN = ("pass", "pw", "secret", "credential", "credentials", "token", "key", "sandi", "암호", "口令")
_WORD = re.compile(
    rf"(?P<word>{'|'.join(sorted(_WORDS, key=len, reverse=True))})s?(?:[_-]?[0-9]{{1,2}}(?![\w$!?#]))?", re.IGNORECASE
)
_IS = (
    "is|ist|est|es|è|é|e|jest|adalah|to|это|هي|هو|bu|lautet|lautete|set to|är|er|je|este|είναι|є|on|was|war|était|era"
    "|był|было|был|will be|now"
    "|as|als|come|como|comme|jako|як|как|olarak|sebagai|som|е|shi|to|hai"
)
_MINE = (
    "le|la|el|il|o|now|jetzt|saya|mein|mon|mu|moje|benim|μου|mea|meu|mia|mio|minha|mitt|min|mijn|my|our|votre|ihr|minun"
    "|mój|moja|meg|שלי"
)
# How the word and the value are joined, surest first. A line may end between them.
_SIGN = re.compile(
    r"[\"'`*]{0,2}(?:\s{0,3}(?::=|=>|->|[:=：№]|\.{3,8}:)\s{0,3}(?:[\[(] |<(?=[^\s<>]{4,64}>))?"
    r"|(?:</[a-z]{1,6})?>\s?(?=[^\s<]))"
)
_VERB = re.compile(
    rf"[\"'`*]{{0,2}}(?:(?:\s(?:{_MINE}))?\s(?:{_IS})(?:\s(?:{_MINE}))?\s|\s?[—|→]\s{{0,3}}|\s-\s{{0,3}}|-\s{{1,3}}|"
    r"\s?[._]{3,12}\s{0,3}|\t|\]\s|[ ]?\([ ]?|[ ]\[[ ]?|[는은이가로]\s|は|として|就?是|[为為])",
    re.IGNORECASE,
)
_SPACE = re.compile(rf"(?:\s(?:{_MINE}|from|von|de|da|z|из|с))?[?,]?\s{{1,3}}(?:[^\n:>]{{0,20}}[:>] )?", re.IGNORECASE)
_GLUED = re.compile("(?<=[\u3040-\u9fff\uac00-\ud7a3])(?=[!-~])")  # "密码5r9A4DoI"
_QUOTED = re.compile(r"([\"'`])([^\s\"'`\\]{4,256})\1")
_BARE = re.compile(r"(?:«\s?|[\"'`“])?(?P<value>[^\s\"'`»”<>]{4,512})")
_RULER = re.compile(r"\n[ \t]{0,8}(?:\|[ \t]{0,8})?:?---")
_RUN_TOGETHER = re.compile("(?<=[!-~]{4})[\u3000-\u9fff\uac00-\ud7a3]")  # prose directly after a secret
# Where a value ends though no space follows: the next field, or what closes a sentence or a bracket.
_NEXT_FIELD = re.compile(r"[,;&](?=[\w-]{1,40}[=:])")
_CLOSING = ".,;:?)]}*|。，、」）،؛“”"
_BEFORE = re.compile(r"(?<![^\s\"'«“„(])[^\s\"'«»“”„=]{6,64}(?=[\s\"'»”])")
_BETWEEN = re.compile(r"[\s\"'»”]{1,2}(?:[^\s\d.,;:!?@=]{1,14}\s){0,4}")  # "... was given as the "
_REACH = 96  # characters before the word in which a value and the words between stand

# ModelString of a password, or written in code in its place.
_NOT_SECRETS = frozenset(
    re.findall(
        r"\w+",
        """
        required optional none null nil true false string str int bool bytes password passwd secret token incorrect
        invalid expired wrong missing empty unknown hidden redacted default example value default_value undefined
        function const return self settings config environ process getenv input prompt must should will not the your
        weak strong reset changed needed obligatorio requerido erforderlich falsch requis incorrecto obligatoire
        wymagane неверный обязателен обязательно verplicht obbligatoria obrigatória gerekli yanlış salah wajib
        """,
    )
)
_REFERENCE = re.compile(
    r"\$\{|\$\(|\$(?:[A-Z_]+|[a-z_]+)\Z|%[A-Za-z_]+%(?![0-9A-Za-z])|%[sdr(]\Z|<|\{|os\.|env\.|process\.|settings\.|config\.|self\.|args\."
    r"|secrets?\.|vault[:.]|getenv"
)
# `user.password`, `hashed_password`, `getpass(...)`, `Optional[str]`: code, where no quotes stand around it.
_NAME_IN_CODE = re.compile(r"[A-Za-z_][A-Za-z_.]{0,511}")
_ENDS_IN_CODE = ("password", "passwd", "pwd", "token", "tokens", "secret", "secrets", "key", "keys", "hash")
_CALL = re.compile(r"([A-Za-z_.]{2,64})[(\[]")
_CALL_OF_PART = re.compile(
    r"[&*]?[A-Za-z_]\w{0,63}(?:\.[A-Za-z_]\w{0,63}){1,6}[(\[{]"
)  # `strings.SplitN(`, `&v1.Secret{`
_DECIMAL = re.compile(r"[0-9]{1,4}\.[0-9]{2,20}%?")
_PART_OF_NAME = re.compile("[A-Z]?[a-z]+|[A-Z]+")
_SHORTEST_PART = 3  # letters: `get_pass(`, `SecretStr(`, not `koNjCk(`
_SPECIAL = re.compile(r"[!@#$%^&*?]")
_WORD_AND_DIGITS = re.compile(r"[^\W\d_]{4,60}[0-9]{1,12}")
# "PasswordReset", "userPIN"; letters in other cases were not written by hand: "fzSYRTQlORZM".
_WORDS_IN_ONE = re.compile(
    r"(?:[A-Z]?[a-z]{2,64}|Id|Of|No|To|By|At|Ip|In|On|[A-Z]{2,5}(?![a-z])){1,8}s?|[A-Z]*|Mc[A-Z][a-z]+"
)
_FEWEST_RANDOM = 8  # letters
_ALGORITHM = re.compile(r"(?:base|pbkdf|bcrypt|argon|scrypt|blake|sha|aes|utf|oauth|ipv|windows|https?)", re.IGNORECASE)
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]|\w{2,9}://|[\w.-]{0,255}/")


def spellings() -> set[str]:
    """Return the words in the form the scanner requires; it ignores case for A to Z only."""
    return {
        spelling
        for word in _WORDS
        for spelling in ((word,) if word.isascii() else (word, word.upper(), word[:1].upper() + word[1:]))
    }


def named_secret(text: str, start: int) -> tuple[int, int] | None:
    """Return the span of the secret that the word at `text[start]` labels."""
    match = _WORD.match(text, start)
    if match is None or not _is_word(text, start):
        return None
    word, end = match["word"].lower(), match.end()
    needs_sign = word in _NEED_SIGN or word.endswith(("key", "token"))
    is_counted = word.endswith(("token", "secret")) and text[end - 1] in "sS"  # "max_tokens", "image_pull_secrets"
    for joint, judge in ((_SIGN, _may_be_any), (_VERB, _is_no_word), (_SPACE, is_mixed), (_GLUED, is_mixed)):
        joined = joint.match(text, end)
        if joined is None:
            continue
        if joint is _SPACE and needs_sign:
            return None
        if is_counted and joint is not _SIGN:
            return None
        if is_counted:
            judge = is_mixed
        elif "\n" in joined.group() and judge is _may_be_any:
            judge = _is_no_word
        if (span := _value(text, joined.end())) is not None and judge(text[span[0] : span[1]], word):
            return span
        break
    if needs_sign:
        return None
    line = text.rfind("\n", max(0, start - _REACH), start) + 1
    for before in reversed(list(_BEFORE.finditer(text, max(line, start - _REACH), start))):
        value = before.group().rstrip(_CLOSING)
        if (
            "${" not in value
            and "$(" not in value
            and is_mixed(value, word)
            and _BETWEEN.fullmatch(text, before.end(), start)
        ):
            return before.start(), before.start() + len(value)
    return None


def names_a_password(head: str) -> bool:
    """Return whether the header of a column ends with a word for passwords: "userPassword", not "password_changed"."""
    found = list(_WORD.finditer(head))
    if not found or found[-1].end() != len(head):
        return False
    return found[-1]["word"].lower() not in _NEED_SIGN or (found[-1].start() == 0 and not head.isascii())


def has_password_word(label: str) -> bool:
    """Return whether a label contains a word for passwords."""
    return any(_is_word(label, match.start()) for match in _WORD.finditer(label))


def is_mixed(value: str, _word: str = "") -> bool:
    """Return whether `value` mixes character classes as passwords do: "Tiger1128", "k(D3x!"; not addresses or codes."""
    if len(value) < 6 or _ADDRESS.match(value) or _is_code(value):
        return False
    if _is_random_case(value):
        return True
    has_digit = any(map(str.isdigit, value))
    has_letter = any(map(str.isalpha, value))
    if has_letter and len(_SPECIAL.findall(value)) + has_digit > 1:
        return True
    if not has_digit or not has_letter or _ALGORITHM.match(value):
        return False
    if _WORD_AND_DIGITS.fullmatch(value):
        return True
    return len(value) >= 7 and value != value.lower() and value != value.upper()


def _value(text: str, start: int) -> tuple[int, int] | None:
    """Return the value that begins at `start`, without punctuation that ends the sentence."""
    if quoted := _QUOTED.match(text, start):
        return None if _REFERENCE.match(quoted[2]) else quoted.span(2)
    match = _BARE.match(text, start)
    if match is None:
        return None
    value, first = match["value"], match.start("value")
    if "|" in text[start - 3 : start]:
        value = value.partition("|")[0]
        if _RULER.match(text, text.find("\n", start)):
            return None  # the header of the next column
    if run_together := _RUN_TOGETHER.search(value):
        value = value[: run_together.start()]
    if next_field := _NEXT_FIELD.search(value, 1):
        value = value[: next_field.start()]
    value = value.rstrip(_CLOSING)
    if "](" in value or _DECIMAL.fullmatch(value):
        return None  # a link, a figure: "| PASS | 0.9867 |"
    if _is_code(value) or _REFERENCE.match(value) or (value[:1] in "([{" and not is_mixed(value)):
        return None
    return first, first + len(value)


def _is_code(value: str) -> bool:
    if _CALL_OF_PART.match(value):
        return True
    if call := _CALL.match(value):
        return all(len(part) >= _SHORTEST_PART for part in _PART_OF_NAME.findall(call[1]))
    is_name = ("." in value or "_" in value) and _NAME_IN_CODE.fullmatch(value) is not None
    return is_name and value.lower().endswith(_ENDS_IN_CODE)


def _is_plain(value: str) -> bool:
    """Return whether it is a word, two with a hyphen, or a name as `card_number`."""
    if not all(unicodedata.category(c)[0] in "LM" for c in value.replace("_", "").replace("-", "", 1)):
        return False
    return not _is_random_case(value)


def _is_random_case(value: str) -> bool:
    """Return whether large and small letters are mixed as in no word and no name of code: "fzSYRTQlORZM"."""
    return (
        len(value) >= _FEWEST_RANDOM and value.isascii() and value.isalpha() and _WORDS_IN_ONE.fullmatch(value) is None
    )


def _may_be_any(value: str, word: str) -> bool:
    """Return whether the value can be a secret after a sign; "required" in "password: required" cannot."""
    if value.isdigit() and (len(value) < 6 or "token" in word.lower()):
        return False
    if value.lower() in _NOT_SECRETS or len(value) < 4 or not any(map(str.isalnum, value)):
        return False
    return len(value) >= 6 or not _is_plain(value)


def _is_no_word(value: str, word: str) -> bool:
    """Return whether the value can be a secret after a verb; "required" in "password is required" cannot."""
    return _may_be_any(value, word) and not _is_plain(value)


def _is_word(text: str, start: int) -> bool:
    """Return whether "password" is a word or part of a name: dbPassword, user_password; not gpasswd, /etc/passwd."""
    before = text[start - 1] if start else " "
    if before == "/":
        return text[start - 2 : start - 1] == "<"
    return not (before.isalpha() and text[start].islower() and text[start].isascii())
