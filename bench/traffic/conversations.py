"""Conversations of the load tests: every request repeats all earlier turns, as chat clients and agents send them.

Every turn adds a message of a user with new identifiers and a name; in the conversation of an agent it also adds a tool
call and its result. A chat is about one person, an agent gets another person in each turn. The client sends back the
answers that it received, with the restored identifiers. So turn 10 contains ten times the identifiers of turn 1. All
identifiers are invented, see `prompts`; every conversation has its own ones.

    conversation = Conversation(KINDS["chat"], number=7)
    body = conversation.ask()                 # bytes of the next request
    conversation.hear("The transfer from ...")  # the answer
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from functools import cache
from typing import Any

from .prompts import ECHO_FROM, ECHO_TO, SPECIMENS, scenario, sentences, specimens

TURNS = 10
_SYSTEM = "You answer for the customer service of a bank. Repeat the summary first, then advise in plain words."
_GIVEN = ("Anna", "Peter", "Maria", "Thomas", "Laura", "Daniel", "Julia", "Martin", "Helen", "Simon", "Clara", "Victor")
_SURNAMES = (
    "Kowalska",
    "Harwood",
    "Lindqvist",
    "Brennan",
    "Castellano",
    "Dvorak",
    "Eriksen",
    "Fairbanks",
    "Grabowski",
    "Hendriks",
    "Ivarsson",
)
_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": {key: {"type": "string"} for key in keys}},
        },
    }
    for name, description, keys in (
        ("find_customer", "Finds a customer by the email address or the IBAN.", ("email", "iban")),
        ("list_transfers", "Lists the last transfers of an account.", ("iban", "since", "limit")),
        ("send_letter", "Sends a letter to a customer.", ("email", "subject", "text")),
    )
]


@dataclass(frozen=True)
class Kind:
    """One kind of conversation.

    Args:
        prompt_bytes: size of each message of the user.
        has_tools: each turn contains a tool call and its result.
        is_named: the client names the conversation in `x-sovctl-conversation`.
    """

    name: str
    prompt_bytes: int = 1_000
    answer_bytes: int = 570
    has_tools: bool = False
    is_named: bool = False


KINDS = {
    kind.name: kind
    for kind in (
        Kind("chat"),
        Kind("chat-named", is_named=True),
        Kind("agent", prompt_bytes=400, has_tools=True),
    )
}


class Conversation:
    """One conversation."""

    def __init__(self, kind: Kind, number: int) -> None:
        self.kind = kind
        self.number = number
        self.turn = 0
        self._messages: list[dict[str, Any]] = [{"role": "system", "content": _SYSTEM}]

    @property
    def headers(self) -> dict[str, str]:
        """Headers of each request."""
        return {"x-sovctl-conversation": f"bench-{self.number}"} if self.kind.is_named else {}

    def ask(self) -> bytes:
        """Return the request of the next turn."""
        self.turn += 1
        facts = _facts(self.kind, self.number, self.turn)
        self._messages.append({"role": "user", "content": _prompt(self.kind, self.number, self.turn, facts)})
        if self.kind.has_tools:
            self._messages += _tool_call(self.turn, facts)
        body: dict[str, Any] = {"model": "bench", "messages": self._messages, "max_tokens": 256}
        if self.kind.has_tools:
            body["tools"] = _TOOLS
        return json.dumps(body).encode()

    def hear(self, answer: str) -> None:
        """Add the answer of this turn.

        Raises:
            RuntimeError: its identifiers were not restored.
        """
        facts = _facts(self.kind, self.number, self.turn)
        if not all(facts[name] in answer for name in ("mail", "iban", "phone")):
            raise RuntimeError(f"turn {self.turn}: expected an answer with the identifiers of the turn")
        self._messages.append({"role": "assistant", "content": answer})


_specimens = cache(specimens)


def _facts(kind: Kind, number: int, turn: int) -> dict[str, str]:
    values, place = _specimens(), number * TURNS + turn
    person = place if kind.has_tools else number
    return {
        "mail": f"c{number:06x}.{turn}{values['mail'][place % 3]}",
        "iban": values["iban"][(place * 7) % SPECIMENS],
        "phone": values["phone"][(place * 3) % SPECIMENS],
        "name": f"{_GIVEN[person % len(_GIVEN)]} {_SURNAMES[person % len(_SURNAMES)]}",
    }


def _prompt(kind: Kind, number: int, turn: int, facts: dict[str, str]) -> str:
    end = (
        f"Dear Mr. {facts['name']}, this is the letter. {scenario(kind.answer_bytes, 0, 0)} {ECHO_FROM} the transfer "
        f"from {facts['iban']} is confirmed to {facts['mail']} and by phone on {facts['phone']} {ECHO_TO}"
    )
    text = random.Random(f"{number % 64} {turn}").sample(sentences(), len(sentences()))
    room, chosen = kind.prompt_bytes - len(end), []
    for sentence in text:
        room -= len(sentence) + 1
        if room < 0:
            break
        chosen.append(sentence)
    return " ".join([*chosen, end])


def _tool_call(turn: int, facts: dict[str, str]) -> list[dict[str, Any]]:
    arguments = json.dumps({"email": facts["mail"], "iban": facts["iban"]})
    result = {
        "customer": {"name": facts["name"], "email": facts["mail"], "phone": facts["phone"]},
        "account": {"iban": facts["iban"], "currency": "EUR", "balance": 4250.25, "is_open": True},
        "transfers": [
            {"date": "2026-03-14", "amount": 100 + turn, "purpose": "rent of the month", "to": facts["iban"]},
            {"date": "2026-03-17", "amount": 25 + turn, "purpose": "books", "to": facts["iban"]},
        ],
    }
    name = f"call_{turn}"
    function = {"name": "find_customer", "arguments": arguments}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": name, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": name, "content": json.dumps(result)},
    ]
