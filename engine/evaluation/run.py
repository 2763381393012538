"""One evaluation: finds the route of the pool, asks the questions without an answer, and records the marks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from sovctl.support.canonical_json import digest, sha256_hex
from sovctl.support.errors import InputError

from ..site.site import Site
from ..spec import Pool, SiteSpec
from ..spec.evaluation import PoolEvaluation
from . import records
from .ask import Gateway
from .marks import Evaluation, baseline_of, obstacle
from .questions import is_correct, read_questions


class Replica(Protocol):
    """A replica of the pool that is asked on its node instead of through the gateway."""

    @property
    def model_sha256(self) -> str:
        """Digest of the model's manifest on the node."""

    @property
    def engine_version(self) -> str:
        """Release of the running engine."""

    def answer(self, question: str, *, max_tokens: int) -> tuple[str, int]:
        """Return the answer, and the number of its tokens."""


@dataclass(frozen=True)
class Outcome:
    """An evaluation, and its comparison.

    Args:
        baseline: best earlier evaluation by the same questions; None without one.
        obstacle: reason for which it does not pass; None if it passes.
        resumed: number of marks of an interrupted evaluation.
    """

    evaluation: Evaluation
    baseline: Evaluation | None
    obstacle: str | None
    resumed: int
    file: Path


@dataclass(frozen=True)
class Settings:
    """Questions and limits of an evaluation."""

    questions: Path
    pass_mark: float
    max_tokens: int


def settings_of(
    site: Site, pool: str, questions: Path | None, pass_mark: float | None, max_tokens: int | None
) -> Settings:
    """Return the settings: of the arguments, else of the pool in site.yaml, else the defaults.

    Raises:
        InputError: neither the arguments nor site.yaml name questions, or the pool is unknown.
    """
    own = _pool(site, pool).evaluation
    if questions is None and own is None:
        hint = f"name them, or add `evaluation` to pool {pool} in site.yaml"
        raise InputError("expected a file with questions, got none", where="--questions-file", hint=hint)
    fallback = own or PoolEvaluation(questions_file="none")
    return Settings(
        questions=questions if questions is not None else site.folder / fallback.questions_file,
        pass_mark=fallback.pass_mark if pass_mark is None else pass_mark,
        max_tokens=fallback.max_tokens if max_tokens is None else max_tokens,
    )


def evaluate(
    site: Site,
    *,
    pool: str,
    questions: Path,
    key_file: Path | None,
    pass_mark: float,
    max_tokens: int,
    operator: str,
    address: str = "",
    replica: Replica | None = None,
    report: Callable[[int, int], None] = lambda *_: None,
) -> Outcome:
    """Ask all questions, and record the marks. The caller holds the site's lock.

    Args:
        key_file: API key of a client; None with `replica`.
        address: of a gateway, host or host:port; the first gateway of the site if empty.
        replica: that is asked instead of a gateway.
        report: called after each answer with the number of answers and of questions.

    Raises:
        InputError: the pool has no route of its own, or a file is invalid.
        NodeUnreachable: the gateway does not answer. Marks so far are kept, and the next call continues.
        SovctlError: the gateway refuses a request.
    """
    wanted = _pool(site, pool).model
    asked, content = read_questions(questions)
    upstream = replica or _gateway(site, pool, key_file, address)
    root, spec = site.state.root, site.spec
    model = next(each for each in spec.models if each.name == wanted)
    asked_at = "gateway" if replica is None else "node"
    runs = (model.manifest_sha256, spec.software.engine_version)
    if replica is not None:
        runs = (replica.model_sha256, replica.engine_version)
    identity = (pool, model.name, *runs, sha256_hex(content))
    key = digest({"identity": list(identity), "max_tokens": max_tokens, "asked": asked_at})
    marks = records.load_partial(root, pool, key)
    resumed = len(marks)
    for question in asked:
        if question.id not in marks:
            started = time.monotonic()
            text, tokens = upstream.answer(question.question, max_tokens=max_tokens)
            seconds = round(time.monotonic() - started, 3)
            marks[question.id] = {"correct": is_correct(question, text), "tokens": tokens, "s": seconds}
            records.save_partial(root, pool, key, marks)
        report(len(marks), len(asked))
    found = Evaluation(
        *identity,
        total=len(asked),
        wrong=tuple(each.id for each in asked if not marks[each.id]["correct"]),
        pass_mark=pass_mark,
        tokens=sum(each["tokens"] for each in marks.values()),
        seconds=round(sum(each["s"] for each in marks.values()), 3),
        time=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        asked=asked_at,
    )
    baseline = baseline_of(found, records.evaluations_of(root, pool))
    reason = obstacle(found, baseline=baseline)
    site.record([records.ledger_record(spec.site.name, found, operator=operator, passed=reason is None)])
    return Outcome(found, baseline, reason, resumed, records.save(root, found))


def _pool(site: Site, name: str) -> Pool:
    known = {each.name: each for each in site.spec.pools}
    if name not in known:
        raise InputError(f"expected one of the pools {', '.join(sorted(known))}, got {name!r}", where="--pool")
    return known[name]


def _gateway(site: Site, pool: str, key_file: Path | None, address: str) -> Gateway:
    spec = site.spec
    if key_file is None or not key_file.is_file():
        raise InputError("expected a file with the API key of a client, got none", where=str(key_file or "--key-file"))
    if spec.gateway is None:
        raise InputError("expected a section `gateway`, got none", where=str(site.loaded.path))
    host, _, port = address.partition(":")
    if port and not port.isdigit():
        raise InputError(f"expected host:port, got {address!r}", where="--address")
    return Gateway(
        address=host or str(spec.node(spec.gateway.nodes[0]).address),
        port=int(port or spec.gateway.port),
        authority=site.state.root / "pki" / "ca.pem",
        key_file=key_file,
        model=_model_name(spec, pool),
    )


def _model_name(spec: SiteSpec, pool: str) -> str:
    """Return a model name of clients whose requests no other pool and no cloud can answer."""
    assert spec.gateway is not None
    for route in spec.gateway.routes:
        others = (route.cloud, route.fallbacks, route.groups, route.fallback_routes)
        if route.pool == pool and not any(others):
            return route.model
    raise InputError(
        f"expected a route of pool {pool} without cloud, fallbacks and groups, got none",
        where="gateway.routes",
        hint="another upstream would answer some questions; add a route of the pool alone for the evaluation",
    )
