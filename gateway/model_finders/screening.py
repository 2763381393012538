"""Runs the screens of a request, and applies the action of its route.

    update = await run_screens(screens, texts, inspection, permit, route="assistant", deadline_s=None)

| action | a screen flags the request | the screen fails |
|---|---|---|
| `allow` | recorded | recorded |
| `stay` | processed on-prem | processed on-prem |
| `block` | rejected | rejected |

A request that policy rejects is not screened. Every other request of the route is, so that records are complete.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ..inspection.inspector import Inspection
from ..policy.decision import Permit, Reason, Verdict
from ..settings.detection.screen import ScreenAction, ScreenedText
from .dispatch import InspectionUpdate
from .model_finder import ModelFinderFailed
from .screen import Screen


async def run_screens(
    screens: Sequence[Screen],
    texts: Sequence[tuple[ScreenedText, str]],
    inspection: Inspection,
    permit: Permit,
    *,
    route: str,
    deadline_s: float | None = None,
) -> InspectionUpdate:
    """Return the inspection with the labels of each screen, and the decision after them.

    Args:
        permit: the decision without them.
        deadline_s: deadline of the request in event-loop time (seconds); a screen without a result by then has failed.
    """
    if permit.verdict is Verdict.BLOCK:
        return InspectionUpdate(inspection, permit)
    answers = await asyncio.gather(*(_in_time(each, texts, deadline_s) for each in screens), return_exceptions=True)
    screened: dict[str, tuple[str, ...]] = {}
    failures: list[tuple[str, ModelFinderFailed]] = []
    reasons: dict[ScreenAction, list[str]] = {action: [] for action in ScreenAction}
    for screen, answer in zip(screens, answers, strict=True):
        if isinstance(answer, ModelFinderFailed):
            failures.append((screen.name, answer))
            reasons[screen.action_on(route)].append(Reason.DETECTOR_FAILED.about(screen.name))
        elif isinstance(answer, BaseException):
            raise answer
        else:
            screened[screen.name] = answer
            reasons[screen.action_on(route)] += [Reason.SCREENED.about(f"{screen.name}/{label}") for label in answer]
    inspection = inspection._replace(screened=screened)
    return InspectionUpdate(
        inspection, _after(permit, reasons[ScreenAction.BLOCK], reasons[ScreenAction.STAY]), failures
    )


def blocks_if_unread(screens: Sequence[Screen], *, route: str) -> bool:
    """Return whether a request that nothing could read is rejected on a route, because a screen might reject it."""
    return any(each.action_on(route) is ScreenAction.BLOCK for each in screens)


def _after(permit: Permit, blocking: Sequence[str], staying: Sequence[str]) -> Permit:
    if blocking:
        return Permit(Verdict.BLOCK, tuple(blocking))
    if not staying:
        return permit
    before = permit.reasons if permit.verdict is Verdict.STAY else ()
    return Permit(Verdict.STAY, (*before, *staying))


async def _in_time(
    screen: Screen, texts: Sequence[tuple[ScreenedText, str]], deadline_s: float | None
) -> tuple[str, ...]:
    try:
        async with asyncio.timeout_at(deadline_s):
            return await screen.flags(texts)
    except TimeoutError:
        raise ModelFinderFailed("deadline") from None
