"""pool.evaluation: the pool answered the questions of the site, with exactly the model and the engine that run.

site.yaml names the questions and the pass mark (`pools[].evaluation`). Only evaluations on a node count
(`sovctl evaluate --on-node`) that are by these questions, and of the model and engine on the node of this replica. The
mark of the newest one must reach the pass mark, and may be below the best earlier one by the binomial error. So a
rollback needs no other evaluation. Evaluations through the gateway do not count, because the gateway does not report
the model of a replica. Without an evaluation the verdict is UNKNOWN.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ....evaluation.marks import Evaluation, baseline_of, shortfall
from ....facts.unreadable import MALFORMED, Unreadable
from ....resources import pool as pool_resource
from ....resources.credential import TLS
from ....spec import Node
from ...model.check import Check, Judgement, Method, Severity, failed, passed, unknown
from ...model.check_context import CheckContext, PoolEvaluations
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import ProbeSections, parse_sections
from ...probes.commands import python_command
from ._binding import model_command, model_of
from ._replicas import Expected as Replica
from ._replicas import heads_on
from ._vllm_process import is_vllm


@dataclass(frozen=True, kw_only=True)
class Expected(Replica):
    """A replica of a pool with `evaluation`, and the evaluations of its pool."""

    pool: str
    model: str
    pass_mark: float
    evaluations: PoolEvaluations


class EvaluationPassed(Check[Expected]):
    id, version, method = "pool.evaluation", 1, Method.TEST
    title = "the pool answered the questions of the site with the model and engine that run"
    controls = ("si-13",)
    severity = Severity.HIGH
    remedy = (
        "run `sovctl evaluate --pool NAME --on-node`, then `sovctl apply --resume`; if the mark is too low, compare "
        "the wrong answers with those of the baseline, and return to the earlier model"
    )

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every vLLM replica of a pool with `evaluation` whose first rank is on the node."""
        pools = {pool_resource.instance(each): each.pool for each in site.context.replicas}
        for replica in heads_on(site, node):
            pool = site.context.pool(pools[replica.subject])
            if pool.evaluation is not None and is_vllm(replica) and replica.flags.get("runner") != "pooling":
                yield Expected(
                    **vars(replica),
                    pool=pool.name,
                    model=pool.model,
                    pass_mark=pool.evaluation.pass_mark,
                    evaluations=site.evaluations.get(pool.name, PoolEvaluations(None, ())),
                )

    def probe(self, expected: Expected) -> Probe:
        """Print the model's digest and the settings of the server."""
        identity = (f"{TLS}/ca.pem", f"{TLS}/node.pem", f"{TLS}/node.key")
        api = python_command("server_api", expected.address, str(expected.port), *identity)
        return Probe({"model": model_command(expected.model), "api": api}, timeout_s=120)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Compare the newest evaluation with questions, model, engine, pass mark and baseline."""
        sections = parse_sections(output)
        model, release = model_of(sections), release_of(sections)
        known = expected.evaluations
        if known.questions_sha256 is None:
            return unknown(f"a readable `questions_file` of pool {expected.pool}", "none")
        command = f"run `sovctl evaluate --pool {expected.pool} --on-node`"
        marks = [each for each in known.marks if each.asked == "node"]
        if not marks:
            return unknown(f"an evaluation of pool {expected.pool} on its node", f"none; {command}")
        others = [list(_others(each, model, release, known.questions_sha256)) for each in marks]
        if all(others):
            return unknown(
                "an evaluation of this model and engine by these questions", f"{', '.join(others[-1])}; {command}"
            )
        at = max(at for at, each in enumerate(others) if not each)
        newest = marks[at]
        measured = replace(newest, pass_mark=expected.pass_mark)
        if missed := shortfall(measured, baseline=baseline_of(measured, marks[:at])):
            return failed(*missed)
        got = f"{newest.score:.1%} ({newest.correct} of {newest.total}) on {newest.time}"
        return passed(f"expected at least {expected.pass_mark:.1%} correct answers, got {got}")


def _others(found: Evaluation, model: str, release: str, questions: str) -> Iterator[str]:
    """Yield what differs from the evaluated pool."""
    if found.model_sha256 != model:
        yield f"one of model {found.model_sha256[:12]} instead of {model[:12]}"
    if found.engine_version != release:
        yield f"one of engine {found.engine_version} instead of {release}"
    if found.questions_sha256 != questions:
        yield f"one by questions {found.questions_sha256[:12]} instead of {questions[:12]}"


def release_of(sections: ProbeSections) -> str:
    """Return the release of the running engine, without the name of a build such as `+cpu`.

    Raises:
        Unreadable: the server did not return it.
    """
    text = sections.text("api")
    try:
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
        found = next(row for row in rows if row.get("path") == "/version")
        if "error" in found:
            raise Unreadable("a version of the server", str(found["error"]), where="/version")
        version = found["version"]
        if not isinstance(version, str) or not version:
            raise ValueError("version")
    except (*MALFORMED, StopIteration):
        raise Unreadable("one JSON object with the version", text, where="/version") from None
    return version.partition("+")[0]
