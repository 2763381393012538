"""Judges an answer that is not streamed.

release_whole(judge, surface, answer)      # masks in place what has to be masked, or raises Blocked
"""

from __future__ import annotations

from typing import Any

from sovctl.gateway.release.judge import Judge
from sovctl.gateway.surfaces import Surface

_LOGPROBS = frozenset({"logprobs", "prompt_logprobs", "top_logprobs"})


def release_whole(judge: Judge, surface: Surface, answer: dict[str, Any]) -> None:
    """Return when the answer may be released as it is then.

    Raises:
        Blocked: it may not.
    """
    is_changed = False
    for said in surface.said(answer):
        tool = said.holder.get("name") if isinstance(said.holder, dict) else None
        released = judge.whole(said.text, said.voice, tool=tool)
        if released != said.text:
            judge.may_change(said)
            said.put(released)
            is_changed = True
    if is_changed:
        without_logprobs(answer)


def without_logprobs(value: Any) -> Any:
    """`value` without what spells out, token by token, the text that was masked; changed in place."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in _LOGPROBS:
                value[key] = [] if isinstance(item, list) else None
            else:
                without_logprobs(item)
    elif isinstance(value, list):
        for item in value:
            without_logprobs(item)
    return value
