"""host.kernel-command-line: the running kernel has the planned boot options, and none that weakens the node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....facts.host.boot import command_line, lacking
from ....facts.unreadable import Unreadable
from ....resources.host.kernel import COMMAND_LINE, HARMLESS, WEAKENING, boot_options
from ....spec import Node
from ...model.check import Expectation, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe_sections import ProbeSections
from ...probes.own_kernel import OwnKernelCheck


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Planned boot options; empty on a node without GPUs."""

    options: tuple[str, ...]


class KernelCommandLine(OwnKernelCheck[Expected]):
    id, version, method = "host.kernel-command-line", 1, Method.EXAMINE
    title = "the running kernel has the planned boot options"
    controls = ("cm-2", "cm-6", "si-16")
    severity = Severity.HIGH
    remedy = (
        "run `sovctl plan` and `sovctl apply`; remove options that weaken the kernel from the configuration of GRUB"
    )

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        yield Expected(options=tuple(boot_options(site.context, node)))

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the command line of the running kernel."""
        return {"options": f"cat {COMMAND_LINE}"}

    def judge_machine(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Pass if no planned option is missing, and no option weakens the kernel."""
        options = command_line(sections.text("options"))
        if not options:
            raise Unreadable("a kernel command line", "", where=COMMAND_LINE)
        findings = [
            failed(f"boot option {each}", "another value, or none") for each in lacking(expected.options, options)
        ]
        planned = {each.partition("=")[0] for each in expected.options}
        for option in options:
            name = option.partition("=")[0]
            if name in WEAKENING and option not in HARMLESS and name not in planned:
                findings.append(failed("no option that weakens the kernel", f"{option}, which {WEAKENING[name]}"))
        return worst(findings, otherwise=f"expected {len(expected.options)} planned boot options, got all")
