"""Greedy completions of a pool (output of the program `golden_tokens`), their record, and the comparison of both.

    served = parse_served(text)
    differences(record.completions, served.completions, tolerance=0.15)

- Token numbers must be equal. The first different token is a near tie if the recorded log probabilities of the two most
  probable tokens differ by less than the tolerance: rounding can then exchange them, and later tokens are not compared.
- Log probabilities must be equal within the tolerance.
- A record is valid for one model, engine, quantization, layout and GPU.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from ..unreadable import MALFORMED, Unreadable, excerpt
from .chat_template import Rendered
from .fingerprint import ForcedTokens
from .prompt_rows import prompt_rows

_WHERE = "golden tokens"


@dataclass(frozen=True, slots=True)
class Completion:
    """One greedy completion; the tuples of tokens, log probabilities and margins have equal lengths."""

    prompt_token_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    margins: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Served:
    """Answers of one server: its version, and one completion per prompt in order."""

    version: str
    completions: tuple[Completion, ...]


@dataclass(frozen=True, slots=True)
class Binding:
    """Values that determine the tokens; a record is void after a change of one.

    Args:
        model_sha256: digest of the model's manifest on the node.
        engine_version: of the running server.
        quantization: of weights and KV cache.
        layout: number of tensor and pipeline ranks.
        gpu: product name.
    """

    model_sha256: str
    engine_version: str
    quantization: str
    layout: str
    gpu: str

    def changes(self, now: Binding) -> list[str]:
        """Return the fields that differ, as "field: recorded value, present value"."""
        pairs = ((each.name, getattr(self, each.name), getattr(now, each.name)) for each in fields(self))
        return [f"{name} {old!r} recorded, {new!r} now" for name, old, new in pairs if old != new]


@dataclass(frozen=True, slots=True)
class GoldenRecord:
    """Recorded completions of a pool.

    Args:
        time: UTC, ISO 8601.
        run: evidence run in which they were recorded.
        templates: messages as the chat template renders them; empty in a record of an earlier release.
        fingerprint: log probabilities of fixed tokens; empty in a record of an earlier release.
    """

    pool: str
    binding: Binding
    completions: tuple[Completion, ...]
    time: str
    run: str
    templates: tuple[Rendered, ...] = ()
    fingerprint: tuple[ForcedTokens, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any) -> GoldenRecord:
        """Return the record of `to_json`.

        Raises:
            Unreadable: the value has another form.
        """
        try:
            binding = Binding(**{name: _text(text) for name, text in value["binding"].items()})
            completions = tuple(_completion(each) for each in value["completions"])
            if not completions:
                raise Unreadable("completions in the record", "none", where=_WHERE, is_description=True)
            templates = tuple(Rendered.from_json(each) for each in value.get("templates", ()))
            return cls(
                _text(value["pool"]),
                binding,
                completions,
                _text(value["time"]),
                _text(value["run"]),
                templates,
                tuple(ForcedTokens.from_json(each) for each in value.get("fingerprint", ())),
            )
        except MALFORMED:
            raise Unreadable("a record of golden tokens", excerpt(str(value)), where=_WHERE) from None


@dataclass(frozen=True, slots=True)
class Difference:
    """A deviation from the record; `is_near_tie` if rounding can explain it."""

    expected: str
    got: str
    is_near_tie: bool = False


def parse_served(text: str) -> Served:
    """Return version and completions.

    Raises:
        Unreadable: a line has another form, a prompt is missing, or a request failed.
    """
    try:
        version, answers = prompt_rows(text, where=_WHERE)
        return Served(version, tuple(_completion(row) for row in answers))
    except MALFORMED:
        raise Unreadable("one JSON object for version and each prompt", text, where=_WHERE) from None


def differences(
    recorded: Sequence[Completion], served: Sequence[Completion], *, tolerance: float
) -> Iterator[Difference]:
    """Yield the deviations of served completions from the recorded ones, at most one per prompt.

    Args:
        tolerance: of log probabilities, in nats.
    """
    if len(recorded) != len(served):
        yield Difference(f"{len(recorded)} completions", str(len(served)))
        return
    for number, (old, new) in enumerate(zip(recorded, served, strict=True)):
        if (found := _difference(old, new, tolerance)) is not None:
            yield Difference(f"{found.expected} of prompt {number}", found.got, is_near_tie=found.is_near_tie)


def _difference(old: Completion, new: Completion, tolerance: float) -> Difference | None:
    if old.prompt_token_ids != new.prompt_token_ids:
        return Difference("the recorded prompt tokens", "others: another tokenizer")
    for place, (token, got) in enumerate(zip(old.token_ids, new.token_ids, strict=False)):
        if token != got:
            return Difference(f"token {token} at {place}", str(got), is_near_tie=old.margins[place] < tolerance)
        deviation = abs(old.logprobs[place] - new.logprobs[place])
        if deviation > tolerance:
            return Difference(
                f"log probability {old.logprobs[place]:.3f} within {tolerance:g} at {place}",
                f"{new.logprobs[place]:.3f}",
            )
    if len(old.token_ids) != len(new.token_ids):
        return Difference(f"{len(old.token_ids)} tokens", str(len(new.token_ids)))
    return None


def _completion(row: Any) -> Completion:
    found = Completion(
        _integers(row["prompt_token_ids"]),
        _integers(row["token_ids"]),
        _numbers(row["logprobs"]),
        _numbers(row["margins"]),
    )
    if not found.token_ids or not found.prompt_token_ids:
        raise Unreadable("tokens", "none", where=_WHERE, is_description=True)
    if len({len(found.token_ids), len(found.logprobs), len(found.margins)}) != 1:
        raise Unreadable("a log probability of each token", f"{len(found.logprobs)}", where=_WHERE)
    return found


def _integers(values: Any) -> tuple[int, ...]:
    found = tuple(values)
    if any(isinstance(each, bool) or not isinstance(each, int) or each < 0 for each in found):
        raise ValueError("a token number")
    return found


def _numbers(values: Any) -> tuple[float, ...]:
    found = tuple(values)
    if any(isinstance(each, bool) or not isinstance(each, int | float) or not math.isfinite(each) for each in found):
        raise ValueError("a number")
    return tuple(float(each) for each in found)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("text")
    return value
