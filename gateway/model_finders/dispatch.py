"""Calls the model finders for a request if their findings could change the decision, and decides again.

    looked = await run_model_finders(finders, inspector, inspection, permissions, permit, tenant="retail")
    looked.permit

| action of the finder's entity types | the finder is called |
|---|---|
| `allow` | never |
| `block` | always: a rejection must not depend on the rest of the text |
| anything else | when the request could leave |

If a finder fails, the request stays on-prem.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..detect.findings.finding import Finding
from ..inspection.inspector import Inspection, Inspector
from ..policy.decision import Permit, Reason, Verdict, decide
from ..policy.permissions import Permissions
from ..settings import Action
from .model_finder import ModelFinder, ModelFinderFailed

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class InspectionUpdate:
    """Inspection and decision after the model finders."""

    inspection: Inspection
    permit: Permit
    failures: Sequence[tuple[str, ModelFinderFailed]] = ()
    """Names of finders that failed, and how."""


async def run_model_finders(
    finders: Sequence[ModelFinder],
    inspector: Inspector,
    inspection: Inspection,
    permissions: Permissions,
    permit: Permit,
    *,
    also: Collection[Permissions] = (),
    tenant: str,
    is_large: bool = False,
    deadline_s: float | None = None,
) -> InspectionUpdate:
    """Call the finders that could change the decision, and decide again.

    Args:
        inspector: the one that made `inspection`; it learns what they find.
        permit: the decision without them.
        also: permissions for fallback routes, whose decisions depend on the same findings.
        is_large: whether the request is processed in a thread, so that the event loop is not blocked.
        deadline_s: deadline of the request in event-loop time (seconds); a finder without a result by then has failed.
    """
    work = asyncio.to_thread if is_large else _here
    every = (permissions, *also)
    mattering = [
        each for each in finders if any(_matters(each, one, permit) for one in every) and each.concerns(inspection)
    ]
    asked = await work(_asked_about, mattering, inspector) if mattering else {}
    if not asked:
        return InspectionUpdate(inspection, permit)
    answers = await asyncio.gather(
        *(_in_time(each.find(texts, tenant=tenant), deadline_s) for each, texts in asked.items()),
        return_exceptions=True,
    )
    more: dict[str, list[Finding]] = {}
    looked_by, failures = [], []
    for finder, answer in zip(asked, answers, strict=True):
        if isinstance(answer, ModelFinderFailed):
            failures.append((finder.name, answer))
        elif isinstance(answer, BaseException):
            raise answer
        else:
            looked_by.append(finder.name)
            for text, findings in answer.items():
                more.setdefault(text, []).extend(findings)
    if more:
        inspection = await work(inspector.add, more)
    inspection = inspection._replace(looked_by=tuple(looked_by))
    permit = decide(inspection, permissions)
    if failures and permit.verdict is not Verdict.BLOCK:
        before = permit.reasons if permit.verdict is Verdict.STAY else ()
        failed = tuple(Reason.DETECTOR_FAILED.about(name) for name, _ in failures)
        permit = Permit(Verdict.STAY, before + failed)
    return InspectionUpdate(inspection, permit, failures)


async def _in_time(answer: Coroutine[Any, Any, _Result], deadline_s: float | None) -> _Result:
    try:
        async with asyncio.timeout_at(deadline_s):
            return await answer
    except TimeoutError:
        raise ModelFinderFailed("deadline") from None


async def _here(function: Callable[..., _Result], *args: Any) -> _Result:
    return function(*args)


def _asked_about(finders: Sequence[ModelFinder], inspector: Inspector) -> dict[ModelFinder, list[str]]:
    """Return the finders to call, each with its texts."""
    prose = inspector.prose
    wanted = {each: [text for text, found in prose.items() if each.wants(text, found)] for each in finders}
    return {each: texts for each, texts in wanted.items() if texts}


def _matters(finder: ModelFinder, permissions: Permissions, permit: Permit) -> bool:
    if permit.verdict is Verdict.BLOCK:
        return False
    actions = {permissions.action_for(entity_type, finder.rule) for entity_type in finder.entity_types}
    return Action.BLOCK in actions or (permit.verdict.may_leave and actions != {Action.ALLOW})
