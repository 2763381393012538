"""What the release tests share: a real detector, checks made from settings, answers and streams of each surface."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from sovctl.gateway.detect import make_detector
from sovctl.gateway.detect.clean_text_cache import CachedFinder
from sovctl.gateway.inspection.inspector import Inspector
from sovctl.gateway.release.judge import ReleaseCheckRun, ReleaseChecks
from sovctl.gateway.release.schema import SchemaCheck
from sovctl.gateway.settings import DetectSettings
from sovctl.gateway.settings.answers.release import ReleaseSettings
from sovctl.gateway.surfaces import SURFACES

CHAT = SURFACES["/v1/chat/completions"]
IBAN, OTHER_IBAN = "DE89 3704 0044 0532 0130 00", "FR1420041010050500013M02606"
PASSAGE = "The deposit rate is 4.0 % a year. Early withdrawal costs 50 euro."
BODY: dict[str, Any] = {
    "model": "assistant",
    "messages": [
        {"role": "system", "content": f"Use:\n[1] {PASSAGE}"},
        {"role": "user", "content": f"My account is {IBAN}, what is the rate?"},
    ],
}


@lru_cache
def detector() -> Any:
    return make_detector(DetectSettings())


def judge_of(release: dict[str, Any], body: dict[str, Any] = BODY, *, may_see: bool = True) -> ReleaseCheckRun:
    """A judge for an answer to `body` by a route with these settings."""
    checks = ReleaseChecks(
        ReleaseSettings.model_validate(release), finder=detector(), schemas=SchemaCheck(), max_depth=64
    )
    inspector = Inspector(CachedFinder(detector()), CHAT, max_depth=64)
    inspector.inspect(body)
    texts = [leaf.text for leaf in inspector.leaves.texts]
    return checks.judge(body, inspector.found, texts, may_see=may_see)


def chunk(delta: dict[str, Any], *, index: int = 0, finish: str | None = None, **more: Any) -> bytes:
    """A framed event of a chat completion."""
    choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish, **more}
    return (
        b"data: " + json.dumps({"id": "x", "object": "chat.completion.chunk", "choices": [choice]}).encode() + b"\n\n"
    )


def framed(kind: str, **fields: Any) -> bytes:
    """A framed event of a response or a message."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def events(released: bytes) -> list[dict[str, Any]]:
    """The events that a client reads."""
    lines = [line[6:] for line in released.split(b"\n") if line.startswith(b"data: {")]
    return [json.loads(line) for line in lines]


def content(released: bytes, index: int = 0, field: str = "content") -> str:
    """What a client reads of a choice."""
    choices = [choice for event in events(released) for choice in event["choices"] if choice["index"] == index]
    return "".join(choice["delta"].get(field) or "" for choice in choices)
