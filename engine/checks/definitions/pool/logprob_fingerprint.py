"""pool.logprob-fingerprint: log probabilities of 512 fixed tokens are within a band around the recorded ones.

Changed weights, a wrong scale of a quantization or a defective GPU move log probabilities, often without another text.
The server reads the tokens, and chooses none, so that a near tie changes nothing. Bands are in
`engine/catalog/benchmarks.yaml`: a narrow one if engine, quantization, ranks and GPU are the recorded ones, and a wide
one after a change of them. A record of another model is UNKNOWN, unless the values are outside the band.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....catalog.benchmarks import FingerprintBand, Processor, load_benchmarks
from ....facts.benchmarks.fingerprint import ForcedTokens, distance, other_tokens, parse_fingerprint
from ....facts.benchmarks.golden_tokens import Binding
from ....resources.credential import TLS
from ....spec import Node
from ...model.check import Check, Judgement, Level, Method, Severity, failed, passed, unknown
from ...model.check_context import CheckContext
from ...model.figures import number_of
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import python_command
from ._binding import binding_commands, binding_of
from .chat_template import Expected as Replica
from .chat_template import chats_on


@dataclass(frozen=True, kw_only=True)
class Expected(Replica):
    """A replica, the record of its pool, and the processor whose bands apply."""

    processor: Processor


class LogprobFingerprint(Check[Expected]):
    id, version, method = "pool.logprob-fingerprint", 1, Method.TEST
    title = "log probabilities of fixed tokens are within a band around the recorded ones"
    controls = ("si-13", "si-7")
    severity = Severity.CRITICAL
    remedy = (
        "compare weights, quantization and engine with the recorded ones, and run `sovctl verify --level full`; record "
        "again only after an intended change: `sovctl golden record --replace`"
    )
    level = Level.BURN_IN

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every vLLM replica with `/tokenize` whose first rank is on the node."""
        processor: Processor = "cpu" if site.context.spec.software.engine == "vllm-cpu" else "gpu"
        yield from (Expected(**vars(replica), processor=processor) for replica in chats_on(site, node))

    def probe(self, expected: Expected) -> Probe:
        """Request the log probabilities, and print model digest and GPUs."""
        identity = (f"{TLS}/ca.pem", f"{TLS}/node.pem", f"{TLS}/node.key")
        served = str(expected.flags.get("served-model-name", expected.model))
        words = ("logprob_fingerprint", expected.address, str(expected.port), *identity, served)
        return Probe({"answers": python_command(*words), **binding_commands(expected.model)}, timeout_s=300)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Compare the log probabilities with the record."""
        now, served = read_fingerprint(output, expected)
        record = expected.record
        if record is None or not record.fingerprint:
            option = "" if record is None else " --replace"
            return unknown(
                f"a recorded fingerprint of pool {expected.pool}", f"none; run `sovctl golden record{option}`"
            )
        if others := other_tokens(record.fingerprint, served):
            return failed("the recorded tokens of each prompt", f"others of {len(others)} prompts: another tokenizer")
        changes = record.binding.changes(now)
        is_same_model = record.binding.model_sha256 == now.model_sha256
        same_build = len(changes) == (0 if is_same_model else 1)
        limits = limits_of(load_benchmarks().fingerprint_band(expected.processor, same_build=same_build))
        if limits is None:
            return unknown("a band of log probabilities", "none in the catalogue")
        found = distance(record.fingerprint, served)
        wanted = f"at most {limits[0]:g} (mean) and {limits[1]:g} nats from the record"
        got = f"{found.mean:.3g} and {found.largest:.3g}, largest in prompt {found.prompt}"
        got += f"; changed: {'; '.join(changes)}" if changes else ""
        if not found.is_within(*limits):
            return failed(wanted, got)
        if not is_same_model:
            return unknown("a record of this model", "one of another; run `sovctl golden record --replace`")
        return passed(f"expected {wanted}, got {got}")


def limits_of(band: FingerprintBand | None) -> tuple[float, float] | None:
    """Return mean and largest distance of a band in nats; None if one is unknown."""
    mean, largest = (None, None) if band is None else (number_of(band.mean), number_of(band.largest))
    return None if mean is None or largest is None else (mean, largest)


def read_fingerprint(output: ProbeOutput, expected: Expected) -> tuple[Binding, tuple[ForcedTokens, ...]]:
    """Return the values that determine the log probabilities, and these.

    Raises:
        Unreadable: a request failed, or a value is missing.
    """
    sections = parse_sections(output)
    version, served = parse_fingerprint(sections.text("answers"))
    return binding_of(sections, expected, version), served
