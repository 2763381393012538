"""LLM review: finds names with a chat model of one of the site's own pools, in texts with uncertain names.

    look = LlmReview(settings.detect.llm_review, upstreams["chat"], salt=salt_of)
    await look.find(["please ask Petrova"], tenant="retail")

The text is sent to a pool, which may process raw text; settings that name a cloud are rejected. Every name in the
answer that is in the text is a finding. If the answer is late or not a list of names, the request stays on-prem. Texts
without names are cached by a keyed digest, so earlier turns of a conversation are sent once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..detect.clean_text_cache import CleanTextCache
from ..detect.findings.finding import Finding, name_value
from ..detect.findings.overlaps import resolve
from ..detect.text.deobfuscation import plain
from ..detect.text.view import NormalizedText
from ..domain.entities import EntityType
from ..domain.errors import UpstreamFailed, UpstreamRejected
from ..inspection.inspector import Inspection
from ..settings.detection.llm_review import LLM_REVIEW_RULE, LlmReviewSettings
from ..upstream import Upstream
from .asked_names import names_in, pieces, places, question
from .model_finder import ModelFinderFailed
from .uncertain_names import has_uncertain_name

_SCORE = 0.6  # between a name by its context and one by a role
_PATH = "chat/completions"
_LONGEST_ANSWER_BYTES = 1 << 20


class LlmReview:
    """Asks a pool; see `model_finder.ModelFinder`.

    Args:
        pool: where it is asked.
        salt: of a tenant, for the pool's prefix cache.
    """

    name = "llm-review"
    rule = LLM_REVIEW_RULE
    entity_types = frozenset({EntityType.PERSON})

    def __init__(self, settings: LlmReviewSettings, pool: Upstream, *, salt: Callable[[str], str]) -> None:
        if not pool.settings.kind.may_see_raw_text:
            raise ValueError("expected a pool, got a cloud")
        self._settings = settings
        self._pool = pool
        self._salt = salt
        self._clean = CleanTextCache()
        self._places = asyncio.Semaphore(settings.max_in_flight)

    def concerns(self, _inspection: Inspection) -> bool:
        """Return True: a chat model supports every language."""
        return True

    def wants(self, text: str, found: Sequence[Finding]) -> bool:
        """Return whether a text is to be reviewed."""
        return wants(self._settings, text, found)

    async def find(self, texts: Sequence[str], *, tenant: str) -> Mapping[str, list[Finding]]:
        """Return the findings in the texts.

        Raises:
            ModelFinderFailed: `too-long`, `timeout`, `no-list`, or what the pool's failure is called.
        """
        unknown = [text for text in texts if text not in self._clean]
        if sum(map(len, unknown)) > self._settings.max_chars:
            raise ModelFinderFailed("too-long")
        views = {text: plain(NormalizedText(text)) for text in unknown}
        names = await self._ask({text: pieces(view.text) for text, view in views.items()}, tenant)
        found = {text: _findings(view, names[text]) for text, view in views.items()}
        for text, findings in found.items():
            if not findings:
                self._clean.add(text)
        return found

    async def _ask(self, texts: Mapping[str, Iterable[str]], tenant: str) -> dict[str, set[str]]:
        """Return the names in each text; a text is sent in parts.

        Raises:
            ModelFinderFailed: one of the questions has no answer.
        """
        try:
            async with asyncio.timeout(self._settings.timeout_s), asyncio.TaskGroup() as group:
                asked = {
                    text: [group.create_task(self._names(piece, tenant)) for piece in parts]
                    for text, parts in texts.items()
                }
        except TimeoutError:
            raise ModelFinderFailed("timeout") from None
        except ExceptionGroup as errors:
            first = errors.exceptions[0]
            if isinstance(first, UpstreamFailed | UpstreamRejected):
                raise ModelFinderFailed(str(first)) from None
            raise ModelFinderFailed("no-list" if isinstance(first, ValueError) else type(first).__name__) from None
        return {text: {name for task in tasks for name in task.result()} for text, tasks in asked.items()}

    async def _names(self, text: str, tenant: str) -> list[str]:
        settings, pool = self._settings, self._pool
        salt = self._salt(tenant) if pool.settings.cache_salt else None
        body = question(text, model=settings.model or pool.settings.model, cache_salt=salt)
        async with self._places:
            answer = await pool.post(_PATH, body, is_stream=False)
            try:
                return names_in(await answer.read(at_most=_LONGEST_ANSWER_BYTES))
            finally:
                answer.release()


def wants(settings: LlmReviewSettings, text: str, found: Sequence[Finding]) -> bool:
    """Return whether a text is to be reviewed under these settings."""
    return settings.when == "always" or has_uncertain_name(text, found)


def _findings(view: NormalizedText, names: Iterable[str]) -> list[Finding]:
    """Return the findings of the names, outside of the gateway's own tokens."""
    return resolve(
        Finding(*view.span(start, end), EntityType.PERSON, _SCORE, name_value(view.text[start:end]), LLM_REVIEW_RULE)
        for name in names
        for place in places(view.text, name)
        for start, end in view.words_outside_tokens(*place)
    )
