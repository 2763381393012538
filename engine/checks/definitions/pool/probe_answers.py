"""pool.probe-answers: the pool completes a prompt over mutual TLS."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

from ....facts.unreadable import MALFORMED, Unreadable, excerpt
from ....spec import Node
from ...model.check import Check, Judgement, Method, Severity, failed, passed, unknown
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ._replicas import Expected, heads_on


class ProbeAnswers(Check[Expected]):
    id, version, method = "pool.probe-answers", 1, Method.TEST
    title = "the pool completes a prompt over mutual TLS"
    controls = ("si-13",)
    severity = Severity.HIGH
    remedy = "read `journalctl -u sovctl-pool-NAME` on the node"
    former_ids = ("pool.canary-answers",)

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every replica whose first rank is on the node."""
        return heads_on(site, node)

    def probe(self, expected: Expected) -> Probe:
        """Request a completion with the program that the pool's timer runs."""
        config = expected.config.removesuffix(".yaml") + ".probe.json"
        return Probe({"probe": f"/usr/local/lib/sovctl/probe --config {shlex.quote(config)}"}, timeout_s=120)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the program received a completion and exited with 0."""
        section = parse_sections(output).section("probe")
        answer = _json_object(section.text)
        if answer.get("ok") is True and section.exit_code == 0 and isinstance(answer.get("latency_ms"), int | float):
            return passed(f"expected a completion from pool {expected.subject}, got one in {answer['latency_ms']} ms")
        if answer.get("ok") is False:
            return failed(f"a completion from pool {expected.subject}", excerpt(str(answer.get("error", "none"))))
        return unknown('{"ok": true, "latency_ms": ...} and exit code 0', f"exit code {section.exit_code}")


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except MALFORMED:
        raise Unreadable("one JSON document", text, where="pool probe") from None
    if not isinstance(value, dict):
        raise Unreadable("a JSON object", text, where="pool probe")
    return value
