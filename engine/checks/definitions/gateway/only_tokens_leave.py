"""gateway.only-tokens-leave: specimens of every tokenized entity type are replaced by tokens in the outgoing body."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.unreadable import MALFORMED, Unreadable
from ....resources.gateway import service as gateway_config
from ....spec import Node
from ....spec.service_accounts import GATEWAY_USER
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import GATEWAY_PYTHON


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """A gateway node.

    Args:
        config: path of `gateway.yaml` on the node.
    """

    config: str


class OnlyTokensLeave(Check[Expected]):
    id, version, method = "gateway.only-tokens-leave", 1, Method.TEST
    title = "outgoing requests contain tokens in place of identifiers"
    controls = ("ac-4", "sc-7")
    severity = Severity.CRITICAL
    remedy = "remove the cloud upstream from site.yaml and apply it, until the named detector works again"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes on which the gateway runs."""
        if site.context.serves_gateway(node):
            yield Expected(config=gateway_config.CONFIG)

    def probe(self, expected: Expected) -> Probe:
        """Run the gateway's own `check` as the gateway's user, with its policy and key. It sends no request.

        It loads the compiled patterns that the service uses. To compile them again takes 16 s of CPU time on the node.
        """
        words = ["env", f"CACHE_DIRECTORY={gateway_config.CACHE}"]
        words += [GATEWAY_PYTHON, "-B", "-m", "sovctl.gateway", "check", "--config", expected.config, "--json"]
        return Probe.of(check=shlex.join(["runuser", "-u", GATEWAY_USER, "--", *words]))

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the row `leaving` passes, and every other check of the gateway too."""
        section = parse_sections(output).section("check")
        try:
            by_check = {str(row["check"]): row for row in json.loads(section.text)}
            verdict, detail = str(by_check["leaving"]["verdict"]), str(by_check["leaving"]["detail"])
        except MALFORMED:
            raise Unreadable("the document of the gateway's `check --json`", section.text, where="gateway") from None
        if verdict == "FAIL":
            return failed("only tokens in the outgoing body", detail)
        if verdict != "PASS" or not detail or section.exit_code != 0:
            got = detail if section.exit_code == 0 else f"exit {section.exit_code}"
            return unknown("every check of the gateway passed", got)
        return worst((), otherwise=f"expected only tokens in the outgoing body, got {detail}")
