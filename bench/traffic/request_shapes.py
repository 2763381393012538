"""Request bodies that are expensive to inspect: contents and containers, combined by name, from a seed.

    body = request_body("names/messages", random.Random(1), size=1 << 20)     # an OpenAI chat request of about 1 MiB

A content is a text of distinct values (names, digit runs, addresses, blobs, escapes). A container is a JSON shape that
holds it: one string, many messages, parts, keys, nested objects, tool arguments. All values are invented.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
from collections.abc import Callable, Iterator
from typing import Any

Content = Callable[[random.Random], str]
"""Returns one item of a content: a few words, with values that differ from item to item."""

_VOWELS, _CONSONANTS = "aeiou", "bcdfghjklmnprstvwz"
_WORDS = re.findall(
    r"\w+",
    "please confirm the transfer of this account to our branch and write me when it is done because the customer asked "
    "for a new card with the other address in the letter of last week",
)
_CYRILLIC = "абвгдежзиклмнопрстуфхцчшэюя"
_ARABIC = "ابتثجحخدذرزسشصضطظعغفقكلمنهوي"
_GREEK = "αβγδεζηθικλμνξοπρστυφχψω"
_HANGUL = "가나다라마바사아자차카타파하"
_AROUND = 2  # bytes of JSON between two items, at least
_GIVEN = ("Anna", "Peter", "Maria", "Thomas", "Julia", "Omar", "Elena", "Ivan", "Sofia", "Jan")


def _name(rng: random.Random) -> str:
    return "".join(rng.choice(_CONSONANTS) + rng.choice(_VOWELS) for _ in range(rng.randint(2, 4))).capitalize()


def _word(rng: random.Random, letters: str, low: int = 3, high: int = 9) -> str:
    return "".join(rng.choices(letters, k=rng.randint(low, high)))


def _digits(rng: random.Random, count: int) -> str:
    return "".join(rng.choices(string.digits, k=count))


def _grouped(rng: random.Random) -> str:
    return rng.choice(" -./").join(_digits(rng, rng.randint(2, 5)) for _ in range(rng.randint(2, 5)))


def _iban(rng: random.Random) -> str:
    number = _digits(rng, 18)
    return f"DE{98 - int(number + '131400') % 97:02}{number}"


def _card(rng: random.Random) -> str:
    digits = [4, *(rng.randint(0, 9) for _ in range(14))]
    total = sum(sum(divmod(2 * digit, 10)) if place % 2 == 0 else digit for place, digit in enumerate(digits))
    return "".join(map(str, digits)) + str(-total % 10)


def _mail(rng: random.Random) -> str:
    return f"{_word(rng, string.ascii_lowercase)}.{_name(rng).lower()}@{_word(rng, string.ascii_lowercase)}.com"


def _escaped(rng: random.Random) -> str:
    form = rng.choice(("%{:02X}", "&#{};", "&#x{:x};", "\\u{:04x}", "={:02X}", "\\x{:02x}"))
    return "".join(form.format(ord(letter)) for letter in _mail(rng))


def _label(rng: random.Random) -> str:
    labels = "Account number,Tax id,Passport no,IBAN,PIN,Password,Date of birth,Phone,Customer,Policy,Licence plate,SSN"
    return f"{rng.choice(labels.split(','))}: {_digits(rng, rng.randint(4, 12))}\n"


CONTENTS: dict[str, Content] = {
    "prose": lambda rng: " ".join(rng.choices(_WORDS, k=12)) + ". ",
    "names": lambda rng: f"Dear Mr. {_name(rng)} {_name(rng)}, ",
    "one-name": lambda rng: f"Mr. {rng.choice(_GIVEN)} {_name(rng)} ",
    "capitals": lambda rng: f"{_name(rng)} {_name(rng)} ",
    "listing": lambda rng: f"{_name(rng)}, {rng.choice(_GIVEN)} {rng.choice(string.ascii_uppercase)}.; ",
    "upper": lambda rng: f"MR. {_name(rng).upper()} {_name(rng).upper()}, ",
    "initials": lambda rng: f"{rng.choice(string.ascii_uppercase)}. {_name(rng)}, ",
    "mails": lambda rng: f"{_mail(rng)} ",
    "nearly-mails": lambda rng: f"{_word(rng, string.ascii_lowercase)}@{_word(rng, string.ascii_lowercase)}.",
    "at-signs": lambda rng: "a@" * rng.randint(1, 9),
    "ibans": lambda rng: f"{_iban(rng)} ",
    "cards": lambda rng: f"card {_card(rng)}, ",
    "digits": lambda rng: f"{_digits(rng, rng.randint(5, 24))} ",
    "grouped": lambda rng: f"{_grouped(rng)} ",
    "digit-run": lambda rng: _digits(rng, 64),
    "single-digits": lambda rng: f"{_digits(rng, 1)} ",
    "dates": lambda rng: f"born {rng.randint(1, 28)}.{rng.randint(1, 12)}.{rng.randint(1930, 2020)}, ",
    "labels": _label,
    "phones": lambda rng: f"call +49 {_digits(rng, 3)} {_digits(rng, 7)} ",
    "plus": lambda rng: f"+{_digits(rng, rng.randint(1, 15))}",
    "ips": lambda rng: ".".join(str(rng.randint(0, 255)) for _ in range(4)) + " ",
    "colons": lambda rng: f"{_word(rng, '0123456789abcdef', 1, 4)}:",
    "hex": lambda rng: f"{_word(rng, '0123456789abcdef', 16, 80)} ",
    "base64": lambda rng: base64.b64encode(_mail(rng).encode()).decode() + " ",
    "nested-base64": lambda rng: base64.b64encode(base64.b64encode(_mail(rng).encode())).decode() + "\n",
    "blob": lambda rng: base64.b64encode(rng.randbytes(48)).decode(),
    "mixed": lambda rng: _word(rng, string.ascii_letters + string.digits, 6, 20) + " ",
    "pairs": lambda rng: f"{rng.choice(string.ascii_uppercase)}{rng.randint(0, 9)} ",
    "escapes": lambda rng: _escaped(rng) + " ",
    "percent": lambda rng: f"%{rng.randint(32, 126):02X}",
    "entities": lambda rng: f"&#{rng.randint(32, 126)};",
    "backslashes": lambda rng: "\\" * rng.randint(1, 9) + rng.choice("nu0x "),
    "spoken": lambda rng: rng.choice("zero one two three four five six seven eight nine".split()) + " ",  # noqa: SIM905
    "spelled": lambda rng: f"{_word(rng, string.ascii_lowercase)} at {_name(rng).lower()} dot com ",
    "tokens": lambda rng: f"PERSON_{_word(rng, string.ascii_uppercase + string.digits, 16, 16)} ",
    "underscores": lambda rng: f"{_word(rng, string.ascii_letters, 1, 9)}_",
    "links": lambda rng: f"[{_name(rng)}](https://{_word(rng, string.ascii_lowercase)}.example/?q={_iban(rng)}) ",
    "brackets": lambda rng: rng.choice(("[", "](", "![", "<", "http://", "[a]: ")),
    "tabs": lambda rng: f"{rng.choice(_GIVEN)}\t{_name(rng)}\t{_digits(rng, 8)}\n",
    "csv": lambda rng: f"name,born,iban\n{rng.choice(_GIVEN)} {_name(rng)},1970-01-0{rng.randint(1, 9)},{_iban(rng)}\n",
    "markdown-table": lambda rng: f"| {rng.choice(_GIVEN)} {_name(rng)} | {_iban(rng)} | {_digits(rng, 9)} |\n",
    "headers": lambda rng: "name\tsurname\tphone\tiban\n" + f"{_name(rng)}\t{_name(rng)}\n",
    "secrets": lambda rng: f"password={_word(rng, string.ascii_letters + string.digits, 8, 24)} ",
    "keys": lambda rng: f"sk-{_word(rng, string.ascii_letters + string.digits, 40, 48)} ",
    "pem": lambda rng: f"-----BEGIN PRIVATE KEY-----\n{base64.b64encode(rng.randbytes(45)).decode()}\n",
    "cyrillic": lambda rng: f"Уважаемый {_word(rng, _CYRILLIC).capitalize()} {_word(rng, _CYRILLIC).capitalize()}, ",
    "arabic": lambda rng: f"السيد {_word(rng, _ARABIC)} {_word(rng, _ARABIC)} ",
    "greek": lambda rng: f"κύριε {_word(rng, _GREEK).capitalize()} ",
    "hangul": lambda rng: f"{_word(rng, _HANGUL, 2, 4)} ",
    "languages": lambda rng: f"{rng.choice((_name(rng), _word(rng, _CYRILLIC), _word(rng, _ARABIC)))} ",
    "both-scripts": lambda rng: f"Mr. {_name(rng)} {_name(rng)} {_word(rng, _CYRILLIC).capitalize()} ",
    "marks": lambda rng: "".join(f"{rng.choice(_WORDS)}{chr(rng.randint(0x300, 0x36F))}" for _ in range(3)) + " ",
    "wide": lambda rng: "".join(chr(0xFF10 + rng.randint(0, 9)) for _ in range(rng.randint(1, 18))) + " ",
    "unseen": lambda rng: f"{rng.randint(0, 9)}\u200b",
    "emoji": lambda rng: chr(rng.randint(0x1F300, 0x1F6FF)) + rng.choice((" ", "")),
    "questions": lambda rng: f"{rng.choice(_WORDS)} your account number?",
    "apostrophes": lambda rng: f"{_name(rng)}'{_name(rng).lower()} ",
    "glued": lambda rng: f"{_name(rng)}{_name(rng)} ",
    "spaced": lambda rng: " ".join(_name(rng)) + "  ",
    "spaces": lambda rng: " " * rng.randint(1, 200) + rng.choice("aA1."),
    "line-breaks": lambda rng: "\n" * rng.randint(1, 9) + rng.choice("aA1"),
    "dots": lambda rng: "." * rng.randint(1, 9) + rng.choice(("a", "1", "A")),
    "dashes": lambda rng: "-" * rng.randint(1, 9) + rng.choice(("a", "1", "A")),
    "slashes": lambda rng: f"{rng.randint(0, 99)}/",
    "one-letter": lambda rng: rng.choice("AAAAAAAa") * 64,
    "letter-space": lambda rng: f"{rng.choice(string.ascii_letters)} ",
}


def _items(content: Content, rng: random.Random, size: int) -> Iterator[str]:
    """Yield items until they have this size as JSON."""
    done = 0
    while done < size:
        item = content(rng)
        done += len(json.dumps(item, ensure_ascii=False).encode()) + _AROUND
        yield item


def _cut(items: Iterator[str], length: int) -> list[str]:
    """Join items to texts of at least `length` characters."""
    texts, piece = [], ""
    for item in items:
        piece += item
        if len(piece) >= length:
            texts.append(piece)
            piece = ""
    return [*texts, piece] if piece else texts


def _user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def _call(arguments: Any) -> dict[str, Any]:
    function = {"name": "save", "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": function}]}


def _nested(texts: list[str]) -> Any:
    """Return chains of 40 objects, one in the other, that hold the texts."""
    chains: list[Any] = []
    for first in range(0, len(texts), 40):
        inner: Any = ""
        for text in texts[first : first + 40]:
            inner = {"note": text, "below": inner}
        chains.append(inner)
    return chains


def _in_strings(texts: list[str]) -> Any:
    """Return JSON in JSON strings, five deep, so that escapes double at each level."""
    inner: Any = texts
    for _ in range(4):
        inner = {"arguments": json.dumps(inner, ensure_ascii=False)}
    return inner


CONTAINERS: dict[str, Callable[[Iterator[str]], list[dict[str, Any]]]] = {
    "string": lambda items: [_user("".join(items))],
    "lines": lambda items: [_user("\n".join(items))],
    "messages": lambda items: [_user(text) for text in items],
    "pages": lambda items: [_user(text) for text in _cut(items, 2000)],
    "parts": lambda items: [_user([{"type": "text", "text": text} for text in items])],
    "arguments": lambda items: [_call({"rows": list(items)})],
    "named": lambda items: [_call([{"customer_name": text} for text in items])],
    "keys": lambda items: [_call({text: index for index, text in enumerate(items)})],
    "nested": lambda items: [_call(_nested(list(items)))],
    "in-strings": lambda items: [_call(_in_strings(list(items)))],
    "numbers": lambda items: [_call([int("".join(filter(str.isdecimal, text))[:18] or "1") for text in items])],
}


def request_body(shape: str, rng: random.Random, *, size: int) -> dict[str, Any]:
    """Return a chat request of about `size` bytes.

    Args:
        shape: `CONTENT/CONTAINER`; several contents joined by `+` are interleaved.
    """
    contents, _, container = shape.partition("/")
    chosen = [CONTENTS[name] for name in contents.split("+")]
    items = _items(lambda rng: rng.choice(chosen)(rng), rng, size)
    return {"model": "bench", "messages": CONTAINERS[container](items)}


ALL_SHAPES = [f"{content}/{container}" for content in CONTENTS for container in CONTAINERS]
