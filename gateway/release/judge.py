"""Runs the release checks of one answer: selects the checks for each of its strings, and returns the text to release.

`ReleaseChecks` is created once per route when settings are applied, `ReleaseCheckRun` once per answer. A string is
judged sentence by sentence while it grows (`GrowingDocument`), or as a whole; JSON only as a whole. A check that raises
has the verdict UNKNOWN.

    run = checks.judge(body, found, texts, may_see=True)
    run.whole("It costs 4 %. [1]", Voice.PROSE)      # the text to release, or AnswerWithheld
    run.verdicts.plain()
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import orjson

from ..body import exact_json
from ..body.json_texts import JsonTexts, TooDeep, json_texts_of
from ..body.key_labels import words_of_key
from ..detect.clean_text_cache import Finder
from ..detect.findings.finding import Finding
from ..settings import GatewaySettings
from ..settings.answers.release import IdentifierAction, OnFailure, ReleaseSettings
from ..surfaces.answers.model_strings import ModelString, Voice
from ..telemetry import log
from . import citations, forbidden, identifiers, schema
from .asked import AskedSchemas, asked_schemas
from .citations import Citations
from .identifiers import KnownIdentifiers, rescan
from .passages import passages_of
from .schema import SchemaCheck
from .sentences import Sentences
from .verdict import Outcome, Verdict, Verdicts

_ARGUMENTS = "arguments"  # the key of a string that is read as a JSON document
_CONTEXT = 64
"""Characters of released text in which an identifier may begin; an IBAN with its spaces has 42."""

Unit = tuple[str, str]
"""Text of the answer, and the text to release instead."""


class ReleaseChecks:
    """The compiled checks of one route.

    Raises:
        InputError: a list of phrases cannot be read or is invalid.
    """

    def __init__(self, settings: ReleaseSettings, *, finder: Finder, schemas: SchemaCheck, max_depth: int) -> None:
        self.settings = settings
        self.finder = finder
        self.schemas = schemas
        self.max_depth = max_depth
        self.phrases = forbidden.load_phrases(settings.forbidden)

    def judge(
        self, body: Mapping[str, Any], found: Iterable[Finding], texts: Sequence[str], *, may_see: bool
    ) -> ReleaseCheckRun:
        """Return a run of the checks for the answer to a request.

        Args:
            body: the request as the client sent it.
            found: findings in the request.
            texts: texts of the request, and values of this conversation's tokens.
            may_see: True if the principal may see values.
        """
        settings = self.settings
        cited = Citations(settings.citations, passages_of(body)) if settings.citations is not None else None
        known = (
            KnownIdentifiers(found, texts, settings.identifiers, may_see=may_see)
            if settings.identifiers is not None
            else None
        )
        asked = asked_schemas(body) if settings.json_schema is not None else AskedSchemas()
        return ReleaseCheckRun(self, cited, known, asked)


def checks_of(settings: GatewaySettings, finder: Finder) -> dict[str, ReleaseChecks]:
    """Return the checks by model name, for routes that have any.

    Raises:
        InputError: a list of phrases cannot be read or is invalid.
    """
    schemas = SchemaCheck()
    return {
        route.model: ReleaseChecks(route.release, finder=finder, schemas=schemas, max_depth=settings.limits.max_depth)
        for route in settings.routes
        if route.release is not None
    }


class ReleaseCheckRun:
    """The checks of one answer; created by `ReleaseChecks`."""

    def __init__(
        self, checks: ReleaseChecks, cited: Citations | None, known: KnownIdentifiers | None, asked: AskedSchemas
    ) -> None:
        self.settings = checks.settings
        self.verdicts = Verdicts()
        self._checks = checks
        self._cited = cited
        self._known = known
        self._asked = asked

    def growing(self, voice: Voice, *, tool: Callable[[], str | None] = lambda: None) -> GrowingDocument:
        """Return the judge of a string that grows.

        Args:
            tool: returns the name of the tool whose arguments the string holds; called once they are complete.
        """
        is_document = voice is Voice.JSON or (voice is Voice.PROSE and self._asked.answer is not None)
        return GrowingDocument(self, voice, tool) if not is_document else Document(self, voice, tool)

    def whole(self, text: str, voice: Voice, *, tool: str | None = None) -> str:
        """Return the text to release for a complete string.

        Raises:
            AnswerWithheld: a check failed.
        """
        growing = self.growing(voice, tool=lambda: tool)
        return "".join(released for _, released in (*growing.feed(text), *growing.flush()))

    def sentence(self, text: str, voice: Voice, *, before: str = "", labels: Sequence[str] = ()) -> str:
        """Return the text to release for a sentence.

        Args:
            before: text of the string before it.
            labels: words that explain it, if it is the first sentence of a keyed value.

        Raises:
            AnswerWithheld: a check failed.
        """
        settings = self.settings
        if settings.forbidden:
            self._take(forbidden.CHECK, lambda: self._phrases(before, text))
        if self._cited is not None and voice is Voice.PROSE:
            cited = self._cited
            self._take(citations.CHECK, lambda: [cited.judge(text)])
        if self._known is not None and settings.identifiers is not None:
            known, rules, released = self._known, settings.identifiers, [text]

            def scan() -> list[Outcome]:
                released[0], outcomes = rescan(
                    text, self._checks.finder, known, rules, before=before[-_CONTEXT:], labels=labels
                )
                return outcomes

            self._take(identifiers.CHECK, scan)
            return released[0]
        return text

    def document(self, text: str, voice: Voice, *, tool: str | None) -> str:
        """Return the text to release for a JSON document.

        Raises:
            AnswerWithheld: a check failed.
        """
        try:
            decoded = exact_json.loads(text)
        except (orjson.JSONDecodeError, RecursionError):
            decoded = None
        released = text
        if isinstance(decoded, dict | list):
            whole = {_ARGUMENTS: text}
            try:
                leaves = json_texts_of(whole, max_depth=self._checks.max_depth, is_cue=self._checks.finder.is_cue)
            except TooDeep:
                self.verdicts.add(Outcome(self._first_check, Verdict.UNKNOWN, "too-deep"))
                raise
            for leaf in (*leaves.texts, *leaves.numbers):
                if (masked := self._prose(leaf.text, voice, leaf.labels)) != leaf.text:
                    leaf.put(masked)
            self._rows(leaves)
            keys = {form: () for key in (*leaves.keys, *leaves.names) for form in (key, words_of_key(key))}
            named = [*keys.items(), *leaves.labelled_keys]
            if any(self._prose(key, Voice.ASIDE, labels) != key for key, labels in named):
                self.verdicts.add(
                    Outcome(identifiers.CHECK, Verdict.FAIL, "key")
                )  # a masked key would break the document
            leaves.close()
            released = whole[_ARGUMENTS]
        else:
            released = self._prose(text, voice)
        asked = self._asked.answer if voice is Voice.PROSE else self._asked.tools.get(tool or "")
        if asked is not None:
            self._take(schema.CHECK, lambda: [self._checks.schemas.judge(asked, released)])
        return released

    def ended(self, *, is_answered: bool) -> None:
        """Note the end of an alternative of the answer.

        Raises:
            AnswerWithheld: the request asks for a JSON document, and the alternative is empty.
        """
        if self.wants_document and not is_answered:
            self.verdicts.add(Outcome(schema.CHECK, Verdict.FAIL, "no-json"))

    def hold_exceeded(self) -> None:
        """Note that a string was held for `max_hold_s` or `max_hold_chars` without the end that a check needs.

        Raises:
            AnswerWithheld: always.
        """
        self.verdicts.add(Outcome(self._first_check, Verdict.UNKNOWN, "hold-exceeded"))

    def may_change(self, said: ModelString) -> None:
        """Return if a string can be masked; raise otherwise.

        Raises:
            AnswerWithheld: the string is signed.
        """
        if not said.may_change:
            self.verdicts.add(Outcome(identifiers.CHECK, Verdict.FAIL, "signed"))

    @property
    def wants_document(self) -> bool:
        """Whether the request asks for a JSON document of a schema."""
        return self._asked.answer is not None

    @property
    def needs_sentences(self) -> bool:
        """Whether a check needs complete sentences."""
        return self._cited is not None

    def on_failure(self, outcome: Outcome) -> OnFailure:
        """Return what the settings do with an answer that has this outcome."""
        settings = self.settings
        if outcome.check == forbidden.CHECK:
            named = outcome.reason.partition(":")[0]
            found = [each.on_failure for each in settings.forbidden if each.name == named]
            return found[0] if found else settings.forbidden[0].on_failure
        if outcome.check == identifiers.CHECK and settings.identifiers is not None:
            action = outcome.reason.partition(":")[0]
            refuses = {action, settings.identifiers.default.value if outcome.verdict is Verdict.UNKNOWN else ""}
            return OnFailure.REFUSE if IdentifierAction.REFUSE.value in refuses else OnFailure.HAND_OFF
        if outcome.check == citations.CHECK and settings.citations is not None:
            if outcome.reason == citations.DECLARED:
                return OnFailure(settings.citations.on_ungrounded)
            return settings.citations.on_failure
        return settings.json_schema.on_failure if settings.json_schema is not None else OnFailure.REFUSE

    @property
    def _first_check(self) -> str:
        """Name of the check to which an outcome is assigned that concerns all."""
        settings = self.settings
        made = (settings.citations, settings.json_schema, settings.identifiers)
        names = (citations.CHECK, schema.CHECK, identifiers.CHECK)
        return next((name for name, check in zip(names, made, strict=True) if check is not None), forbidden.CHECK)

    def _rows(self, leaves: JsonTexts) -> None:
        """Check lists whose items may be the groups of one number, which cannot be masked one by one."""
        for row in leaves.rows:
            joined = " ".join(leaf.text for leaf in row)
            if not any(leaf.is_changed for leaf in row) and self._prose(joined, Voice.ASIDE, row[0].labels) != joined:
                self.verdicts.add(Outcome(identifiers.CHECK, Verdict.FAIL, "list"))

    def _prose(self, text: str, voice: Voice, labels: Sequence[str] = ()) -> str:
        growing = GrowingDocument(self, voice, lambda: None, labels)
        return "".join(released for _, released in (*growing.feed(text), *growing.flush()))

    def _phrases(self, before: str, text: str) -> list[Outcome]:
        phrases = self._checks.phrases
        hits = phrases.find(phrases.tail(before) + text)
        return [Outcome(forbidden.CHECK, Verdict.FAIL, hit) for hit in hits] or [Outcome(forbidden.CHECK, Verdict.PASS)]

    def _take(self, check: str, judge: Callable[[], list[Outcome]]) -> None:
        try:
            outcomes = judge()
        except Exception as error:  # noqa: BLE001 - after any failure of a check, its verdict is UNKNOWN
            log.event("release check failed", level=40, error=error, check=check)
            outcomes = [Outcome(check, Verdict.UNKNOWN, "check-failed")]
        for outcome in outcomes:
            self.verdicts.add(outcome)


class GrowingDocument:
    """Judges a string sentence by sentence, while it grows."""

    def __init__(
        self, judge: ReleaseCheckRun, voice: Voice, tool: Callable[[], str | None], labels: Sequence[str] = ()
    ) -> None:
        self._judge = judge
        self._labels = labels
        self._voice = voice
        self._tool = tool
        self._sentences = Sentences()
        self._before = ""

    @property
    def held(self) -> int:
        """Number of characters that are held."""
        return self._sentences.held

    def feed(self, text: str) -> Iterable[Unit]:
        """Yield the units that can be judged now, in order. The first halves of all units are the whole string.

        Raises:
            AnswerWithheld: a check failed; units yielded before may be released.
        """
        return map(self._judged, self._sentences.feed(text))

    def flush(self) -> Iterable[Unit]:
        """Yield the rest of the units, at the end of the string."""
        return map(self._judged, self._sentences.flush())

    def force(self) -> Iterable[Unit]:
        """Return units of incomplete sentences, because the string was held for too long.

        Raises:
            AnswerWithheld: a check needs complete sentences.
        """
        if self._judge.needs_sentences and self._voice is Voice.PROSE:
            self._judge.hold_exceeded()
        taken = self._sentences.force(_CONTEXT)
        return [self._judged(taken)] if taken else []

    def _judged(self, text: str) -> Unit:
        labels = () if self._before else self._labels
        released = self._judge.sentence(text, self._voice, before=self._before, labels=labels)
        self._before = (self._before + text)[-_LONGEST_BEFORE:]
        return text, released


_LONGEST_BEFORE = 512  # characters of earlier text that checks read


class Document(GrowingDocument):
    """Judges a JSON document once it is complete."""

    def __init__(self, judge: ReleaseCheckRun, voice: Voice, tool: Callable[[], str | None]) -> None:
        super().__init__(judge, voice, tool)
        self._pieces: list[str] = []
        self._held = 0

    @property
    def held(self) -> int:
        return self._held

    def feed(self, text: str) -> Iterable[Unit]:
        self._pieces.append(text)
        self._held += len(text)
        return []

    def flush(self) -> Iterable[Unit]:
        text = "".join(self._pieces)
        self._pieces, self._held = [], 0
        return [(text, self._judge.document(text, self._voice, tool=self._tool()))] if text else []

    def force(self) -> Iterable[Unit]:
        self._judge.hold_exceeded()
        return []
