"""Records the tokens of pools (`sovctl golden record`): two runs of `pool.golden-tokens`, `pool.chat-template` and
`pool.logprob-fingerprint`, whose answers must agree.

The verdicts of both runs are stored as evidence. They are UNKNOWN before the first record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from sovctl.support.errors import InputError, SovctlError

from ...catalog.benchmarks import load_benchmarks
from ...facts.benchmarks.chat_template import Rendered, template_differences
from ...facts.benchmarks.fingerprint import ForcedTokens, distance, other_tokens
from ...facts.benchmarks.golden_tokens import Binding, Completion, GoldenRecord, differences
from ...facts.unreadable import Unreadable
from ...site import golden_tokens as store
from ...site.site import Site
from ..definitions.pool import chat_template
from ..definitions.pool.chat_template import ChatTemplate
from ..definitions.pool.chat_template import Expected as ChatPool
from ..definitions.pool.golden_tokens import Expected, GoldenTokens, read_golden
from ..definitions.pool.logprob_fingerprint import LogprobFingerprint, limits_of, read_fingerprint
from ..model.check import Level
from ..model.probe import ProbeOutput
from ..model.result import Result, output_of
from .circumstances import Circumstances, actor
from .evidence import keep
from .run import RunResult, run

RUNS = 2
_T = TypeVar("_T")


@dataclass(frozen=True)
class Answer:
    """The answer of one replica in one run."""

    name: str
    binding: Binding
    completions: tuple[Completion, ...]
    tolerance: float


def record(site: Site, *, pools: Collection[str] = (), replace: bool = False) -> list[GoldenRecord]:
    """Record the tokens of pools, and return the records. The caller holds the site's lock.

    Args:
        pools: names; all generating pools if empty.
        replace: whether existing records are replaced.

    Raises:
        InputError: a pool is unknown, or has a record and `replace` is False.
        SovctlError: a replica did not answer, or answers differ between replicas or runs.
    """
    known = {pool.name for pool in site.spec.pools}
    if absent := sorted(set(pools) - known):
        raise InputError(f"expected one of the pools {', '.join(sorted(known))}, got {absent[0]!r}", where="--pool")
    wanted = set(pools) or known
    recorded = [name for name in sorted(wanted) if store.file_of(site.state.root, name).exists()]
    if recorded and not replace:
        raise InputError(
            f"pools {', '.join(recorded)} have recorded tokens",
            where=str(site.state.root / store.FOLDER),
            hint="record them again only after an intended change: sovctl golden record --replace",
        )
    about = Circumstances.of(site)
    results = [_run(site) for _ in range(RUNS)]
    evidence = [keep(site, each, about)[0].run_id for each in results]
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    answers = {name: agreed(name, list(_answers(results, name))) for name in sorted(wanted)}
    records = [
        GoldenRecord(
            pool=name,
            binding=answer.binding,
            completions=answer.completions,
            time=now,
            run=evidence[-1],
            templates=agreed_templates(results, name),
            fingerprint=agreed_fingerprint(results, name),
        )
        for name, answer in answers.items()
        if answer is not None
    ]
    for each in records:
        store.save(site.state.root, site.spec.site.name, each, operator=str(actor()), replace=replace)
    return records


def _run(site: Site) -> RunResult:
    return run(
        site,
        today=datetime.now(UTC).date(),
        checks=[GoldenTokens.id, ChatTemplate.id, LogprobFingerprint.id],
        level=Level.BURN_IN,
    )


def _answers(results: Sequence[RunResult], pool: str) -> Iterator[Answer]:
    """Yield the answers of the replicas of a pool in all runs.

    Raises:
        SovctlError: a replica did not answer.
    """
    for found in results:
        for target, result in zip(found.targets, found.results, strict=True):
            if isinstance(target.expectation, Expected) and target.expectation.pool == pool:
                yield answer_of(target.name, result, target.expectation)


def answer_of(name: str, result: Result, expected: Expected) -> Answer:
    """Return the answer in the output of one result.

    Raises:
        SovctlError: the probe failed, or its output is incomplete.
    """
    output = output_of(result.raw)
    try:
        if output.exit_code != 0:
            raise Unreadable("answers", result.reason, where=name, is_description=True)
        binding, served = read_golden(output, expected)
    except Unreadable as error:
        raise SovctlError(str(error), where=name, hint="sovctl verify --check 'pool.*'") from None
    return Answer(name, binding, served.completions, expected.tolerance or 0.0)


def agreed(pool: str, answers: Sequence[Answer]) -> Answer | None:
    """Return the answer of all replicas and runs; None without an answer.

    Raises:
        SovctlError: two answers differ.
    """
    for other in answers[1:]:
        first = answers[0]
        if changes := first.binding.changes(other.binding):
            raise SovctlError(f"expected equal replicas, got {'; '.join(changes)}", where=f"{first.name}, {other.name}")
        found = differences(first.completions, other.completions, tolerance=first.tolerance)
        if deviation := next((each for each in found if not each.is_near_tie), None):
            raise SovctlError(
                f"expected {deviation.expected}, got {deviation.got}: two answers of pool {pool} differ",
                where=f"{first.name}, {other.name}",
                hint="drain the node and run: sovctl verify --level full",
            )
    return answers[0] if answers else None


def agreed_templates(results: Sequence[RunResult], pool: str) -> tuple[Rendered, ...]:
    """Return the messages of a pool as all replicas render them in all runs; empty for a pool without `/tokenize`.

    Raises:
        SovctlError: a replica did not answer, or two answers differ.
    """
    found = list(_read(results, ChatTemplate.id, pool, lambda output, _: chat_template.read_rendered(output)[1]))
    for name, rendered, _ in found[1:]:
        if deviation := next(template_differences(found[0][1], rendered), None):
            raise SovctlError(
                f"expected {deviation[0]}, got {deviation[1]}: two answers of pool {pool} differ",
                where=f"{found[0][0]}, {name}",
                hint="compare the models of both nodes: sovctl verify --check model.checksum",
            )
    return found[0][1] if found else ()


def agreed_fingerprint(results: Sequence[RunResult], pool: str) -> tuple[ForcedTokens, ...]:
    """Return the log probabilities of a pool; empty for a pool without `/tokenize`.

    Those of all replicas and runs are within the band of equal builds around the first ones.

    Raises:
        SovctlError: a replica did not answer, or two answers differ.
    """
    found = list(_read(results, LogprobFingerprint.id, pool, lambda *given: read_fingerprint(*given)[1]))
    for name, served, expected in found[1:]:
        band = load_benchmarks().fingerprint_band(expected.processor, same_build=True)
        mean, largest = limits_of(band) or (0.0, 0.0)
        first = found[0][1]
        if other_tokens(first, served) or not distance(first, served).is_within(mean, largest):
            raise SovctlError(
                f"expected log probabilities within {mean:g} (mean) and {largest:g} nats, got others: two answers of "
                f"pool {pool} differ",
                where=f"{found[0][0]}, {name}",
                hint="drain the node and run: sovctl verify --level full",
            )
    return found[0][1] if found else ()


def _read(
    results: Sequence[RunResult], check: str, pool: str, read: Callable[[ProbeOutput, Any], _T]
) -> Iterator[tuple[str, _T, Any]]:
    """Yield name, answer and expectation of each result of a check of a pool.

    Raises:
        SovctlError: a probe failed, or its output is incomplete.
    """
    for each in results:
        for target, result in zip(each.targets, each.results, strict=True):
            expected = target.expectation
            if target.check.id != check or not isinstance(expected, ChatPool) or expected.pool != pool:
                continue
            output = output_of(result.raw)
            try:
                if output.exit_code != 0:
                    raise Unreadable("an answer", result.reason, where=target.name, is_description=True)
                answer = read(output, expected)
            except Unreadable as error:
                raise SovctlError(str(error), where=target.name, hint="sovctl verify --check 'pool.*'") from None
            yield target.name, answer, expected
