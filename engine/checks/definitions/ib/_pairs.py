"""Pairs of nodes whose rails perftest measures: neighbours in the order of site.yaml, so that a node is in two pairs.

A rail is the same PCI address of a compute port on both nodes. A node that is slow in both of its pairs has the fault;
the verdict of one pair names both ends. The program finds the adapter of an address on the node, because names of
adapters change with the order of drivers.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from ....catalog.benchmarks import RdmaLimit, load_benchmarks
from ....facts.benchmarks.perftest import Perftest, parse_perftest
from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.active_check import ActiveCheck, ActiveExpectation, NodeCommand
from ...model.check import Judgement, unknown
from ...model.check_context import CheckContext
from ...model.figures import number_of
from ...model.probe_sections import ProbeSections
from ...probes.compute_ports import expected_ports

PORT = 18515
"""TCP port on which client and server exchange parameters; the default of perftest."""
_LIMIT_S = 60
_ADAPTER = """\
adapter=
for each in /sys/class/infiniband/*; do
  [ "$(basename "$(readlink -f "$each/device")")" = {address} ] && adapter=$(basename "$each")
done
[ -n "$adapter" ] || {{ echo "no adapter at {address}" >&2; exit 3; }}
{command}"""


@dataclass(frozen=True, kw_only=True)
class Expected(ActiveExpectation):
    """Two nodes: the server and the client.

    Args:
        server_address: of the server, for the exchange of parameters.
        rails: PCI addresses of compute ports of both nodes; empty if neither site.yaml nor the catalogue names them.
        link_gbit_s: nominal rate of a port; None if it is not in the catalogue.
        limit: of the rate; None if it is not in the catalogue.
        runs: of a bandwidth; the median decides.
    """

    server_address: str
    rails: tuple[str, ...]
    link_gbit_s: float | None
    limit: RdmaLimit | None
    runs: int = 3


class PairCheck(ActiveCheck[Expected]):
    """A subclass states the program and judges it."""

    order: ClassVar[int] = 200

    def expect_controller(self, site: CheckContext) -> Iterator[Expected]:
        """Expect this of every two neighbours of a group; only of sites with a section `fabric`."""
        if site.context.spec.fabric is None:
            return
        for group in site.context.spec.node_groups:
            nodes = [node for node in group.nodes if node.name not in site.context.unavailable]
            for server, client in _neighbours(nodes):
                if (found := _expected(site, server, client)) is not None:
                    yield found

    def pair_commands(self, expected: Expected, program: str, *, runs: int, first_round: int) -> Iterator[NodeCommand]:
        """Yield server and client of each rail and run, one rail after the other.

        Args:
            program: with its options, except device, port and server.
        """
        server, client = expected.nodes
        rounds = ((rail, run) for rail in range(len(expected.rails)) for run in range(1, runs + 1))
        for number, (rail, run) in enumerate(rounds, start=first_round):
            name = section(rail, run)
            test = f'{program} -d "$adapter" -p {PORT}'
            yield NodeCommand(
                name=f"{name}-server",
                node=server,
                command=_on_rail(expected.rails[rail], f"exec {test}"),
                timeout_s=_LIMIT_S,
                round=number,
                ready=f"ss -Htln 'sport = :{PORT}' | grep -q .",
                ends_with_others=True,
            )
            yield NodeCommand(
                name=name,
                node=client,
                command=_on_rail(expected.rails[rail], f"exec {test} {expected.server_address}"),
                timeout_s=_LIMIT_S,
                round=number,
            )


def section(rail: int, run: int) -> str:
    """Return the name of the client's section."""
    return f"rail{rail}-run{run}"


def missing_limit(expected: Expected) -> Judgement | None:
    """Return UNKNOWN if rails, rate or limit are not known."""
    if not expected.rails:
        return unknown("addresses of compute ports in node_groups[].ports or the catalogue", "none")
    if expected.limit is None:
        rate = "none" if expected.link_gbit_s is None else f"{expected.link_gbit_s:g} Gbit/s"
        return unknown("a rate of compute ports with limits in the catalogue", rate)
    return None


def measured(sections: ProbeSections, rail: int, run: int) -> Perftest:
    """Return the client's result of one run.

    Raises:
        Unreadable: the test failed, its output is incomplete, or it did not use InfiniBand.
    """
    found = parse_perftest(sections.text(section(rail, run)))
    if found.test != "RDMA_Write" or found.link_type != "IB":
        raise Unreadable("RDMA_Write over IB", f"{found.test} over {found.link_type}", where="perftest")
    return found


def rail_name(expected: Expected, rail: int) -> str:
    """Return rail and both ends in words."""
    server, client = expected.nodes
    return f"rail {rail} ({expected.rails[rail]}) between {client} and {server}"


def _neighbours(nodes: list[Node]) -> Iterator[tuple[Node, Node]]:
    yield from pairwise(nodes)
    if len(nodes) > 2:
        yield nodes[-1], nodes[0]


def _expected(site: CheckContext, server: Node, client: Node) -> Expected | None:
    ports = expected_ports(site, server)
    if ports.ports == 0:
        return None
    return Expected(
        subject=f"{server.name}+{client.name}",
        nodes=(server.name, client.name),
        server_address=str(server.address),
        rails=tuple(sorted(ports.compute)),
        link_gbit_s=number_of(site.context.platform(server).checks.compute_nic_gbit_s),
        limit=load_benchmarks().rdma_limit(ports.rate_gbit_s),
        runs=site.context.spec.verify.repetitions,
    )


def _on_rail(address: str, command: str) -> str:
    if not re.fullmatch(r"[0-9a-f:.]+", address):
        raise ValueError(f"expected a PCI address, got {address!r}")
    return _ADAPTER.format(address=shlex.quote(address), command=command)
