"""pool.chat-template: the pool renders fixed messages as the recorded token numbers.

A wrong chat template lowers the quality of answers without an error; the classic cause is a double BOS token. Messages
of 12 shapes are sent to `/tokenize`, which generates nothing, and token numbers are compared with the record of the
pool (`sovctl golden record`). A release that renders them otherwise is a FAIL, so its number does not void the record.
Without a record the verdict is UNKNOWN, and also if another model renders them as recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.benchmarks.chat_template import Rendered, parse_rendered, template_differences
from ....facts.benchmarks.golden_tokens import GoldenRecord
from ....resources import pool as pool_resource
from ....resources.credential import TLS
from ....resources.serving.routes import served_routes
from ....spec import Node
from ...model.check import Check, Judgement, Level, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import python_command
from ._binding import model_command, model_of
from ._replicas import Expected as Replica
from ._replicas import heads_on
from ._vllm_process import is_vllm


@dataclass(frozen=True, kw_only=True)
class Expected(Replica):
    """A replica, and the record of its pool; None without one."""

    pool: str
    model: str
    record: GoldenRecord | None


def chats_on(site: CheckContext, node: Node) -> Iterator[Expected]:
    """Yield every vLLM replica with `/tokenize` whose first rank is on the node."""
    pools = {pool_resource.instance(each): each.pool for each in site.context.replicas}
    for replica in heads_on(site, node):
        pool = site.context.pool(pools[replica.subject])
        chats = replica.flags.get("runner") != "pooling" and "/tokenize" in served_routes(site.context, pool)
        if is_vllm(replica) and chats:
            yield Expected(**vars(replica), pool=pool.name, model=pool.model, record=site.golden.get(pool.name))


class ChatTemplate(Check[Expected]):
    id, version, method = "pool.chat-template", 1, Method.TEST
    title = "the pool renders messages as the recorded tokens"
    controls = ("si-13", "si-7")
    severity = Severity.HIGH
    remedy = (
        "compare `chat_template` of the model's folder and the release of the engine with the recorded ones; record "
        "again only after an intended change: `sovctl golden record --replace`"
    )
    level = Level.BURN_IN

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every vLLM replica with `/tokenize` whose first rank is on the node."""
        return chats_on(site, node)

    def probe(self, expected: Expected) -> Probe:
        """Request the tokens of all shapes, and print the model's digest."""
        identity = (f"{TLS}/ca.pem", f"{TLS}/node.pem", f"{TLS}/node.key")
        served = str(expected.flags.get("served-model-name", expected.model))
        shapes = python_command("chat_template", expected.address, str(expected.port), *identity, served)
        return Probe({"shapes": shapes, "model": model_command(expected.model)}, timeout_s=300)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Compare the tokens with the record."""
        model, rendered = read_rendered(output)
        if expected.record is None or not expected.record.templates:
            # A record of an earlier release has completions and no messages; it is replaced as a whole.
            option = "" if expected.record is None else " --replace"
            return unknown(f"recorded messages of pool {expected.pool}", f"none; run `sovctl golden record{option}`")
        recorded = expected.record.templates
        found = [failed(*each) for each in template_differences(recorded, rendered)]
        if model != expected.record.binding.model_sha256 and not found:
            return unknown("a record of this model", "one of another; run `sovctl golden record --replace`")
        refused = sum(each.token_ids is None for each in recorded)
        return worst(found, otherwise=f"expected {len(recorded)} recorded shapes, got the same; {refused} are refused")


def read_rendered(output: ProbeOutput) -> tuple[str, tuple[Rendered, ...]]:
    """Return the SHA-256 of the model's manifest, and the shapes.

    Raises:
        Unreadable: a request failed, or a value is missing.
    """
    sections = parse_sections(output)
    return model_of(sections), parse_rendered(sections.text("shapes"))
