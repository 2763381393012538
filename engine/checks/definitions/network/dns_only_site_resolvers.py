"""network.dns-only-site-resolvers: the node sends names to the name servers of site.yaml only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.unreadable import Unreadable
from ....resources.host.resolver import FILE, IN_USE, name_servers
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

_STUB = "127.0.0.53"  # systemd-resolved(8)


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """From `host.dns` of site.yaml."""

    servers: tuple[str, ...]


class DnsOnlySiteResolvers(Check[Expected]):
    id, version, method = "network.dns-only-site-resolvers", 1, Method.EXAMINE
    title = "only the site's name servers are in use"
    controls = ("sc-20", "sc-21", "sc-7")
    severity = Severity.HIGH
    remedy = "run `sovctl plan` and `sovctl apply`; remove name servers of DHCP from the network configuration"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node if site.yaml has `host.dns`."""
        dns = site.context.spec.host.dns
        if dns is not None:
            yield Expected(servers=tuple(str(each) for each in dns.servers))

    def probe(self, expected: Expected) -> Probe:
        """Print the configuration of the resolver, and that of systemd-resolved if it runs."""
        return Probe.of(file=f"cat {FILE}", resolved=f"if [ -e {IN_USE} ]; then cat {IN_USE}; fi; echo '# end'")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if all name servers are planned. The address of systemd-resolved counts as its own servers."""
        sections = parse_sections(output)
        servers, resolved = name_servers(sections.text("file")), sections.text("resolved")
        if not resolved.strip().endswith("# end"):
            raise Unreadable("name servers, then `# end`", resolved, where=IN_USE)
        if _STUB in servers:
            servers = [*(each for each in servers if each != _STUB), *name_servers(resolved)]
        if not servers:
            return failed(f"name servers {', '.join(expected.servers)}", "none")
        findings = [
            failed(f"only {', '.join(expected.servers)}", each) for each in servers if each not in expected.servers
        ]
        return worst(findings, otherwise=f"expected the site's name servers, got {', '.join(servers)}")
