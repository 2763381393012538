"""Prompts of the load tests: every request has a unique text, so that caches have no effect.

A body consists of text parts with slots between them. There are `VARIANTS` orders of the sentences. E-mail addresses
are unique; IBANs and phone numbers cycle through `SPECIMENS` values. A body therefore repeats after 64 x 1,000 x 2^32
requests, and every request starts a new conversation. All identifiers are invented: IBANs are random with valid check
digits, phone numbers are from 555-0100 to 555-0199, addresses are at example.com.

    shape = SHAPES["2k3"]
    body(shape, number=7)                 # bytes of one request
    write_lua(shape, Path("prompts.lua")) # the same texts for wrk
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from pathlib import Path

VARIANTS, SPECIMENS = 64, 1000
ECHO_FROM, ECHO_TO = "Summary:", "END."
"""Delimiters of the text that the upstream repeats in its answer; it contains three identifiers, or none."""


@dataclass(frozen=True)
class Shape:
    """One load profile.

    Args:
        prompt_bytes: size of the user's message.
        identifiers: number of identifiers: e-mail addresses, IBANs and phones in turn.
        answer_bytes: size of the answer's text.
        chunks: events of a streamed answer; 0 without streaming.
        gap_ms: time between two events.
    """

    name: str
    prompt_bytes: int
    identifiers: int
    answer_bytes: int = 570
    chunks: int = 0
    gap_ms: int = 0

    @property
    def scenario(self) -> str:
        """Parameters of the answer for the upstream; part of the prompt, so that every gateway forwards it."""
        return scenario(self.answer_bytes, self.chunks, self.gap_ms)


_LETTERS = str.maketrans("0123456789", "abcdefghij")


def scenario(*figures: int) -> str:
    """Return figures as letters: "Scenario: fha ea b." for 570, 40, 1. Digits could be detected as an identifier."""
    return f"Scenario: {' '.join(map(str, figures)).translate(_LETTERS)}."


def scenario_in(body: bytes) -> tuple[int, ...] | None:
    """Return the figures in a request; None if absent."""
    found = _SCENARIO.search(body)
    return tuple(int(each.translate(_DIGITS)) for each in found.group(1).split()) if found else None


_SCENARIO = re.compile(rb"Scenario: ([a-j]+ [a-j]+ [a-j]+)\.")
_DIGITS = bytes.maketrans(b"abcdefghij", b"0123456789")

SHAPES = {
    shape.name: shape
    for shape in (
        Shape("2k3", 2000, 3),
        Shape("2k0", 2000, 0),
        Shape("20k30", 20_000, 30),
        Shape("2k3s", 2000, 3, chunks=40, gap_ms=1),
        Shape("wso2", 1024, 3, answer_bytes=10_240),  # wso2/api-platform, 1.1.0: 1 KiB in, 10 KiB out
    )
}

_SENTENCES = """
The customer asked on 14 March 2026 why the transfer of 4,250.00 EUR has not arrived yet.
Order 92803 was confirmed in branch 17 and the goods left the warehouse two days later.
Please check whether the limit of the card was raised before the journey began.
The previous letter explained the fees in detail and named the paragraph of the terms.
Version 2.14.3 of the mobile application shows the balance with a delay of some minutes.
A colleague from the lending department will look at the file again on Monday morning.
The interest for the third quarter comes to 112.40 EUR and was booked on 30/09/2026.
We could not find a reason in the system and therefore need a second look at the case.
If the standing order is changed now, the next payment goes out on the first of the month.
The document has 12 pages, of which pages 3 to 7 describe the securities account.
Nobody answered the reminder, although it was sent by letter and by message in the app.
The new terms apply from 2027 on, and the customer may object within six weeks.
It would help to know whether the payment was meant for the joint account or the other one.
The fee of 9.90 EUR was refunded because the statement had been sent twice by mistake.
Invoice 2026-00417 lists three positions, and the second one is not clear to the customer.
The branch has closed at noon, so the identification must take place another day.
Our partner confirmed that the parcel with the new card was handed over at the gate.
Keep the answer short, polite and without technical words that a customer might not know.
The auditor wants to see who approved the exception and on which ground it was granted.
A deposit of 15,000 is planned for the spring and should be placed for twelve months.
""".strip().splitlines()
_FACTS = {
    "mail": "Write to {mail} when the matter is closed.",
    "iban": "The money was sent from {iban} last week.",
    "phone": "The number {phone} is answered in the evening.",
}
_KINDS = ("mail", "iban", "phone")
_SUMMARY = "the transfer from {iban} is confirmed to {mail} and by phone on {phone}"
_SYSTEM = "You answer for the customer service of a bank. Repeat the summary first, then advise in plain words."


def sentences() -> list[str]:
    """Return the sentences of prompts; none contains an identifier."""
    return _SENTENCES


def specimens() -> dict[str, list[str]]:
    """Return the values of the slots; for e-mail addresses the part after the number."""
    dice = random.Random(3)  # the same in every run
    areas = (202, 212, 303, 312, 404, 415, 503, 617, 702, 808)
    return {
        "mail": ["@example.com", "@mail.example.org", "@example.net"],
        "iban": [_iban(f"{dice.randrange(10**18):018}") for _ in range(SPECIMENS)],
        "phone": [f"+1 {area} 555 {last:04}" for area in areas for last in range(100, 200)],
    }


def pieces(shape: Shape, variant: int) -> list[str]:
    """Return the JSON body of one request as text, slot, text, ..., text."""
    sentences = random.Random(variant).sample(_SENTENCES, len(_SENTENCES))
    summary = _SUMMARY if shape.identifiers else "the transfer is confirmed"
    end = f"{shape.scenario} {ECHO_FROM} {summary} {ECHO_TO}"
    facts = [_FACTS[_KINDS[n % 3]] for n in range(max(0, shape.identifiers - 3))]
    room = shape.prompt_bytes - len(end) - sum(len(fact) + 24 for fact in facts)  # 24: an identifier, about
    text: list[str] = []
    while (room := room - len(sentences[len(text) % len(sentences)]) - 1) > 0:
        text.append(sentences[len(text) % len(sentences)])
    for place, fact in reversed(list(enumerate(facts))):
        text.insert(len(text) * (place + 1) // (len(facts) + 1), fact)
    messages = [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": " ".join([*text, end])}]
    body = {"model": "bench", "messages": messages, "max_tokens": 256, "stream": shape.chunks > 0}
    return _split(json.dumps(body))


def body(shape: Shape, number: int) -> bytes:
    """Return the body of request `number`, as wrk sends it."""
    return fill(pieces(shape, number % VARIANTS), number)[0]


def fill(template: list[str], number: int) -> tuple[bytes, list[str]]:
    """Return a body and its identifiers."""
    values = specimens()
    out, used = [template[0]], []
    for place, kind in enumerate(template[1::2]):
        known = values[kind]
        chosen = known[(number + 7 * place) % len(known)]
        used.append(f"c{number:08x}.{place}{chosen}" if kind == "mail" else chosen)
        out += (used[-1], template[2 * place + 2])
    return "".join(out).encode(), used


def write_lua(shape: Shape, path: Path) -> None:
    """Write the variants and specimens for `load.lua`."""
    variants = [pieces(shape, variant) for variant in range(VARIANTS)]
    lines = ["return { variants = {"]
    lines += ["{" + ",".join(_lua(piece) for piece in each) + "}," for each in variants]
    lines += ["}, specimens = {"]
    lines += [f"{kind} = {{" + ",".join(map(_lua, known)) + "}," for kind, known in specimens().items()]
    path.write_text("\n".join([*lines, "}}"]))


def _split(body: str) -> list[str]:
    out = [body]
    while True:
        found = [(out[-1].find("{" + kind + "}"), kind) for kind in _KINDS]
        found = [each for each in found if each[0] >= 0]
        if not found:
            return out
        at, kind = min(found)
        rest = out.pop()
        out += (rest[:at], kind, rest[at + len(kind) + 2 :])


def _lua(text: str) -> str:
    return "[==[" + text + "]==]"


def _iban(account: str) -> str:
    """Return a German IBAN; ISO 13616: check digits = 98 - remainder modulo 97."""
    check = 98 - int(account + "131400") % 97  # D = 13, E = 14
    return f"DE{check:02}{account}"
