"""pool.golden-tokens: the pool answers fixed prompts with the recorded tokens.

A GPU that computes wrong values answers every probe, with other tokens. Prompts are completed at temperature 0 with a
fixed seed, and token numbers and log probabilities are compared with the record of the pool (`sovctl golden record`).

- Without a record, or with one of another model, engine, quantization, layout or GPU, the verdict is UNKNOWN.
- A near tie of two tokens is WARN, because the batch size changes rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....catalog.benchmarks import load_benchmarks
from ....facts.benchmarks.golden_tokens import Binding, GoldenRecord, Served, differences, parse_served
from ....resources import pool as pool_resource
from ....resources.credential import TLS
from ....spec import Node
from ...model.check import Check, Judgement, Level, Method, Severity, failed, unknown, warned, worst
from ...model.check_context import CheckContext
from ...model.figures import number_of
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import python_command
from ._binding import binding_commands, binding_of
from ._replicas import Expected as Replica
from ._replicas import heads_on


@dataclass(frozen=True, kw_only=True)
class Expected(Replica):
    """A replica, and the record of its pool; None without one."""

    pool: str
    model: str
    record: GoldenRecord | None
    tolerance: float | None


class GoldenTokens(Check[Expected]):
    id, version, method = "pool.golden-tokens", 1, Method.TEST
    title = "the pool answers fixed prompts with the recorded tokens"
    controls = ("si-13", "si-7")
    severity = Severity.CRITICAL
    remedy = (
        "drain the node and run `sovctl verify --level full`; record the tokens again only after an intended change"
    )
    level = Level.BURN_IN

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every replica of a generating pool whose first rank is on the node."""
        pools = {pool_resource.instance(each): each.pool for each in site.context.replicas}
        for replica in heads_on(site, node):
            name = pools[replica.subject]
            if replica.flags.get("runner") != "pooling":
                yield Expected(
                    **vars(replica),
                    pool=name,
                    model=site.context.pool(name).model,
                    record=site.golden.get(name),
                    tolerance=number_of(load_benchmarks().golden.logprob_tolerance),
                )

    def probe(self, expected: Expected) -> Probe:
        """Request the completions, and print model digest and GPUs."""
        identity = (f"{TLS}/ca.pem", f"{TLS}/node.pem", f"{TLS}/node.key")
        served = str(expected.flags.get("served-model-name", expected.model))
        answers = python_command("golden_tokens", expected.address, str(expected.port), *identity, served)
        return Probe({"answers": answers, **binding_commands(expected.model)}, timeout_s=300)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Compare the tokens with the record."""
        binding, served = read_golden(output, expected)
        if expected.record is None:
            return unknown(f"recorded tokens of pool {expected.pool}", "none; run `sovctl golden record`")
        if changes := expected.record.binding.changes(binding):
            return unknown("a record of this model, engine and GPU", f"a void one: {'; '.join(changes)}")
        if expected.tolerance is None:
            return unknown("a tolerance of log probabilities", "none in the catalogue")
        recorded = expected.record.completions
        found = [
            (warned if each.is_near_tie else failed)(each.expected, each.got)
            for each in differences(recorded, served.completions, tolerance=expected.tolerance)
        ]
        count = sum(len(each.token_ids) for each in recorded)
        return worst(found, otherwise=f"expected {count} recorded tokens of {len(recorded)} prompts, got the same")


def read_golden(output: ProbeOutput, expected: Expected) -> tuple[Binding, Served]:
    """Return the values that determine the tokens, and the completions.

    Raises:
        Unreadable: a request failed, or a value is missing.
    """
    sections = parse_sections(output)
    served = parse_served(sections.text("answers"))
    return binding_of(sections, expected, served.version), served
