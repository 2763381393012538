"""The conversation of a hand-off in tokens: the texts of the request and the withheld answer. Pure.

Every identifier that the detector finds becomes a token, whatever policy permits, with the same outgoing scan as a body
for a cloud. Values of this conversation's tokens become tokens, too. Content that cannot be read (images, sound, files)
is replaced by its name. If an identifier would remain, an exception is raised.

    made = transcript_of(surface, body, inspector, ["It is DE89..."], issuer=issuer, issued={}, max_depth=64)
    made.messages      # [{"role": "user", "text": "My account is IBAN_..."}, {"role": "held back", "text": ...}]
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from ..body.json_texts import JsonText, JsonTexts, Path
from ..detect.findings.finding import Finding
from ..domain.entities import EntityType
from ..domain.obstacles import Obstacle
from ..inspection.inspector import Inspector
from ..policy.permissions import Permissions
from ..settings import Action
from ..surfaces import SURFACES, Surface
from ..tokenization.body import tokenize_body
from ..tokens.token import TokenIssuer

HELD_BACK = "held back"
"""Role of the withheld answer."""

_MAX_CHARACTERS = 100_000  # of a transcript, newest first: about 50 pages; guess, 2026-11
_SHORTEST_VALUE = 3  # characters; shorter values occur inside ordinary words
_DATA = re.compile(r"data:[^\s,]{0,200};base64,")
_LONGEST_RUN = re.compile(r"[A-Za-z0-9+/=_-]{400,}")
_SPEAKERS = frozenset({"user", "assistant", "system", "developer"})
_CHAT = SURFACES["/v1/chat/completions"]
_EVERYTHING = Permissions(dict.fromkeys(EntityType, Action.TOKENIZE), {}, frozenset(), frozenset(), True, frozenset())


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation in tokens."""

    messages: list[dict[str, str]]
    """`role` and `text` of each message, in order; the last one is the withheld answer."""
    issued: Mapping[str, str]
    """Values by token."""
    about: Mapping[str, Collection[str]]
    """Identifiers in the value of each token."""

    @property
    def tokens(self) -> int:
        """Number of different tokens."""
        return len(self.issued)


def transcript_of(
    surface: Surface,
    body: Mapping[str, Any],
    request: Inspector,
    answer: Sequence[str],
    *,
    issuer: TokenIssuer,
    issued: Mapping[str, str],
    max_depth: int,
) -> Transcript:
    """Return the transcript of a request and its answer.

    Args:
        request: inspector of the request, whose findings apply to the transcript.
        answer: strings of the answer, as the client would have got them.
        issuer: issues tokens of the conversation.
        issued: values of the conversation's tokens.

    Raises:
        IdentifierLeak: the transcript would still contain an identifier.
        TooDeep: a text contains JSON that is nested deeper than `max_depth`.
    """
    messages = [*_said(surface, body, request.leaves), {"role": HELD_BACK, "content": [_part(text) for text in answer]}]
    inspector = Inspector(request.finder, _CHAT, max_depth=max_depth)
    inspected: dict[str, Any] = {"messages": messages}
    inspector.inspect(inspected)
    found = {leaf.text: request.findings(leaf) for leaf in request.leaves.texts}
    inspector.add({leaf.text: found[leaf.text] for leaf in inspector.leaves.texts if leaf.text in found})
    inspector.know(_people(found, issued))
    outgoing = tokenize_body(inspected, inspector, _EVERYTHING, issuer, model="", dropped=())
    tokenized = orjson.loads(outgoing.data)["messages"]
    known = {value: token for token, value in issued.items() if len(value) >= _SHORTEST_VALUE}
    made = [{"role": each["role"], "text": _covered(_text(each), known)} for each in tokenized]
    everything = "\n".join(each["text"] for each in made)
    used = {token: value for token, value in issued.items() if token in everything}
    all_issued = {**used, **outgoing.issued}
    about = {token: issuer.about.get(token, (value,)) for token, value in all_issued.items()}
    return Transcript(_newest(made), all_issued, about)


def _people(found: Mapping[str, Sequence[Finding]], issued: Mapping[str, str]) -> set[str]:
    """Return the names of people in the conversation."""
    here = {
        text[each.start : each.end]
        for text, findings in found.items()
        for each in findings
        if each.entity_type is EntityType.PERSON
    }
    return here | {value for token, value in issued.items() if token.startswith(f"{EntityType.PERSON}_")}


def _said(surface: Surface, body: Mapping[str, Any], leaves: JsonTexts) -> list[dict[str, Any]]:
    """Return the request of any surface as messages of a chat."""
    unread: dict[Path, Obstacle | None] = {
        path: obstacle
        for path, item in leaves.objects
        if surface.is_part(path) and (obstacle := surface.obstacle(item)) is not None
    }
    messages: dict[Path, dict[str, Any]] = {}
    for leaf in leaves.texts:
        is_person = surface.is_person(leaf.path, body)
        group = surface.prose(leaf.path) or (leaf.path[:-1] if is_person else None)
        if group is None:
            continue
        message = messages.setdefault(group, {"role": _role(body, group), "content": []})
        if part := next((path for path in unread if leaf.path[: len(path)] == path), None):
            if (obstacle := unread[part]) is not None:
                message["content"].append(_part(f"[{obstacle.value}]"))
                unread[part] = None
        elif is_person and message["role"] in _SPEAKERS:
            message["name"] = leaf.text
        else:
            message["content"].append(_part(_readable(leaf, surface)))
    return list(messages.values())


def _part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _readable(leaf: JsonText, surface: Surface) -> str:
    """Return a text for a person, with its key if it is an argument or part of a document."""
    text = leaf.text
    if _DATA.search(text) or _LONGEST_RUN.search(text):
        return f"[{len(text)} characters of data]"
    if leaf.document is not None or surface.is_argument(leaf.path):
        return orjson.dumps({str(leaf.path[-1]): text}).decode()
    return text


def _role(body: Mapping[str, Any], group: Path) -> str:
    found: Any = body
    for step in group:
        try:
            found = found[step]
        except (KeyError, IndexError, TypeError):
            break
    role = found.get("role") if isinstance(found, dict) else None
    return role if isinstance(role, str) and role.isalpha() and len(role) <= 20 else str(group[0])


def _text(message: Mapping[str, Any]) -> str:
    parts = [part["text"] for part in message["content"]]
    named = [f"({message['name']})"] if "name" in message else []
    return "\n".join([*named, *parts])


def _covered(text: str, known: Mapping[str, str]) -> str:
    """Return the text with tokens for values of earlier turns."""
    for value, token in known.items():
        if value in text:
            text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", token, text)
    return text


def _newest(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the newest messages within `_MAX_CHARACTERS`. A cut cannot reveal a value, because all are tokens."""
    kept: list[dict[str, str]] = []
    left = _MAX_CHARACTERS
    for message in reversed(messages):
        if left <= 0:
            break
        text = message["text"]
        kept.append({**message, "text": text if len(text) <= left else f"[...] {text[len(text) - left :]}"})
        left -= len(text)
    return kept[::-1]
