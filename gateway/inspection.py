"""What is in a request: kinds and counts, languages, and what stands in the way of letting it leave.

Every string is scanned once, however often it occurs and however often it is asked for. Two things go beyond the
detector, which sees one text at a time: a value found anywhere is found everywhere in the request (a name behind
"Mr." in the first message also counts where it stands alone), and values under keys such as `customer_name` in tool
arguments are names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from sovctl.gateway import body as json_body
from sovctl.gateway.body import JSON, Path
from sovctl.gateway.detect.finding import Finding, resolve
from sovctl.gateway.detect.language import NONE, UNKNOWN, languages
from sovctl.gateway.kinds import Kind


class Obstacle(StrEnum):
    """Why a request can't be inspected, or can't be rewritten: each keeps it on-prem."""

    IMAGE = "image"
    AUDIO = "audio"
    FILE = "file"
    UNKNOWN_PART = "unknown-part"
    DATA_URI = "data-uri"
    ENCODED = "encoded"  # a long run that only a decoder could read
    KEY = "key"  # an identifier as the key of an object
    NUMBER = "number"  # an identifier as a JSON number


# Content part types, as OpenAI and vLLM name them. Text is inspected; everything else is not, and says what it is.
_PARTS: dict[str, Obstacle | None] = {
    "text": None,
    "refusal": None,
    "image_url": Obstacle.IMAGE,
    "input_image": Obstacle.IMAGE,
    "input_audio": Obstacle.AUDIO,
    "audio_url": Obstacle.AUDIO,
    "file": Obstacle.FILE,
    "input_file": Obstacle.FILE,
}
_DATA_URI = re.compile(r"\bdata:[\w.+-]{0,64}/?[\w.+-]{0,64}(?:;[\w=.+-]{1,64}){0,4};base64,", re.IGNORECASE)
_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{160,}")  # characters; the longest digest in use (SHA-512, hex) has 128

_NAME_KEY = re.compile(r"(?i)(?:^|[_\W]|(?<=[a-z])(?=N))(?:name|surname|lastname|firstname|fullname)$")
_NAME_VALUE = re.compile(r"[^\W\d_a-z][^\d_@/\\{}<>]{1,79}")
_NOT_PROSE = frozenset({"role", "type", "id", "tool_call_id", "name"})
_SPEAKERS = frozenset({"user", "assistant", "system", "developer"})
_SHORTEST_ALIAS = 3  # letters; shorter parts of a name are initials and particles


class Finder(Protocol):
    """What finds identifiers in one text: `detect.Detector`, or a test's that fails."""

    def find(self, text: str) -> list[Finding]:
        """Identifiers, sorted, none overlapping."""


@dataclass(frozen=True)
class Inspection:
    """What a request holds. No text: this may be logged and audited."""

    counts: Mapping[Kind, int]
    """Findings by kind, every occurrence counted."""
    languages: frozenset[str]
    """Of the messages, as `detect.language` names them."""
    obstacles: frozenset[Obstacle]


@dataclass
class Inspector:
    """Inspects one request, and remembers what it found in each text of it."""

    finder: Finder
    max_depth: int
    _found: dict[str, list[Finding]] = field(default_factory=dict, repr=False)
    _known: dict[str, Finding] = field(default_factory=dict, repr=False)
    _speakers: frozenset[int] = frozenset()
    """Messages whose `name` is a person's; a tool's is a function's."""

    def inspect(self, body: Any) -> Inspection:
        """Everything in `body`.

        Raises:
            TooDeep: see `body.walk`.
            Exception: whatever the detector raises; the request is then to be treated as full of identifiers.
        """
        self._speakers = _speakers(body)
        scan = _Scan(self)
        json_body.walk(body, scan, max_depth=self.max_depth)
        if self._known and self._spread(scan.texts):
            scan = _Scan(self)
            json_body.walk(body, scan, max_depth=self.max_depth)
        return scan.result()

    def findings(self, path: Path, text: str) -> list[Finding]:
        """Identifiers in the text at `path`, including those that are known from elsewhere in the request."""
        found = self._found.get(text)
        if found is None:
            found = self._found[text] = self.finder.find(text)
            for finding in found:
                self._remember(text, finding)
        if self._is_name_field(path, text):
            return [Finding(0, len(text), Kind.PERSON, 1.0, text.casefold(), "NAME_KEY")]
        return found

    def _is_name_field(self, path: Path, text: str) -> bool:
        """True when the whole text is a name by where it stands: a speaker's `name`, or such a key in JSON."""
        if not path or not isinstance(path[-1], str) or not text:
            return False
        if JSON in path:
            return _NAME_KEY.search(path[-1]) is not None and _NAME_VALUE.fullmatch(text) is not None
        return len(path) == 3 and path[0] == "messages" and path[2] == "name" and path[1] in self._speakers

    def _remember(self, text: str, finding: Finding) -> None:
        surface = text[finding.start : finding.end]
        self._known.setdefault(surface, finding)
        if finding.kind is Kind.PERSON:
            for word in re.findall(r"[^\W\d_]+(?:['’-][^\W\d_]+)*", surface):
                if len(word) >= _SHORTEST_ALIAS and word[0].isupper():
                    self._known.setdefault(word, Finding(0, 0, Kind.PERSON, 0.5, word.casefold(), "NAME_PART"))

    def _spread(self, texts: set[str]) -> bool:
        """Find the known values in all texts; True when that found more."""
        known = sorted(self._known, key=len, reverse=True)
        pattern = re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, known)) + r")(?!\w)")
        has_more = False
        for text in texts:
            before = self._found[text]
            more = [
                Finding(m.start(), m.end(), origin.kind, origin.score, origin.value, origin.rule)
                for m in pattern.finditer(text)
                for origin in (self._known[m.group()],)
            ]
            if more and (after := resolve([*before, *more])) != before:
                self._found[text] = after
                has_more = True
        return has_more


class _Scan:
    """One walk over a body; changes nothing."""

    def __init__(self, inspector: Inspector) -> None:
        self._inspector = inspector
        self._counts: Counter[Kind] = Counter()
        self._obstacles: set[Obstacle] = set()
        self._languages: set[str] = set()
        self._prose: dict[Path, list[str]] = {}
        self.texts: set[str] = set()

    def text(self, path: Path, text: str) -> str:
        found = self._inspector.findings(path, text)
        self.texts.add(text)
        self._counts.update(finding.kind for finding in found)
        if len(text) > 20 and _DATA_URI.search(text):
            self._obstacles.add(Obstacle.DATA_URI)
        if len(text) >= 160 and any(not _is_inside(match.span(), found) for match in _ENCODED.finditer(text)):
            self._obstacles.add(Obstacle.ENCODED)
        if path[:1] == ("messages",) and path[-1] not in _NOT_PROSE:
            if JSON in path:
                self._languages |= languages(_without(text, found)) - {UNKNOWN, NONE}
            else:
                self._prose.setdefault(path[:2], []).append(_without(text, found))
        elif path[-1:] == ("description",):
            self._languages |= languages(text) - {UNKNOWN, NONE}
        return text

    def key(self, path: Path, key: str) -> None:
        if ("@" in key or any(map(key.__contains__, "0123456789"))) and self._inspector.findings(path, key):
            self._counts.update(finding.kind for finding in self._inspector.findings(path, key))
            self._obstacles.add(Obstacle.KEY)

    def number(self, path: Path, number: float) -> float:
        if found := self._inspector.findings(path, str(number)):
            self._counts.update(finding.kind for finding in found)
            if JSON not in path:
                self._obstacles.add(Obstacle.NUMBER)
        return number

    def part(self, _path: Path, part: Mapping[str, Any]) -> None:
        kind = part.get("type")
        obstacle = _PARTS.get(kind, Obstacle.UNKNOWN_PART) if isinstance(kind, str) else Obstacle.UNKNOWN_PART
        if obstacle is not None:
            self._obstacles.add(obstacle)

    def result(self) -> Inspection:
        for texts in self._prose.values():
            self._languages |= languages("\n\n".join(texts))
        return Inspection(dict(self._counts), frozenset(self._languages or {NONE}), frozenset(self._obstacles))


def _speakers(body: Any) -> frozenset[int]:
    messages = body.get("messages") if isinstance(body, dict) else None
    return frozenset(
        index
        for index, message in enumerate(messages if isinstance(messages, list) else ())
        if isinstance(message, dict) and message.get("role") in _SPEAKERS
    )


def _is_inside(span: tuple[int, int], findings: list[Finding]) -> bool:
    return any(finding.start <= span[0] and span[1] <= finding.end for finding in findings)


def _without(text: str, findings: list[Finding]) -> str:
    """The text with blanks for findings: a name or an address says nothing about the language around it."""
    pieces, position = [], 0
    for finding in findings:
        pieces.append(text[position : finding.start])
        position = finding.end
    pieces.append(text[position:])
    return " ".join(pieces)
