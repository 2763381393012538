"""An active check: a test that puts load on GPUs or links of one node, or of several nodes together.

    class HostToDevice(ActiveCheck[Expected]):              # one node: override `expect`
        def expect(self, site, node):
            yield Expected(nodes=(node.name,), ...)

        def commands(self, expected):
            return repeated(expected.nodes[0], "nvbandwidth -j -t host_to_device_memcpy_ce", times=3)

    class PairBandwidth(ActiveCheck[Expected]):             # several nodes: override `expect_controller`
        def expect_controller(self, site):
            yield Expected(subject="n1+n2", nodes=("n1", "n2"), ...)

        def commands(self, expected):
            server, client = expected.nodes
            return (
                NodeCommand("server", server, "ib_write_bw ...", ready="ss -Htln sport = :18515 | grep -q .",
                            ends_with_others=True),
                NodeCommand("client", client, "ib_write_bw ... 192.0.2.1"),
            )

- The runner starts the commands of one round together, in their order, each as root on its node; rounds run one after
  the other. `judge` gets one section per command, by its name, as from any other probe.
- The runner, and not the check, verifies that a node runs one active test at a time, and that it serves nothing.
- A measured failure is final. A measurement that is UNKNOWN is repeated once if `may_repeat` is set.
- Targets with equal commands share one run: several checks can judge one output.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from .check import Check, Expectation, Level
from .probe import Probe
from .probe_sections import ProbeSections


@dataclass(frozen=True, kw_only=True)
class ActiveExpectation(Expectation):
    """Expectation of an active check.

    Args:
        nodes: all nodes under load, at least one, without duplicates. With `expect_controller`, the subject names them.
    """

    nodes: tuple[str, ...]


@dataclass(frozen=True)
class NodeCommand:
    """One command of an active test on one node.

    Args:
        name: of the section in the output; unique within the test.
        node: one of the expectation's nodes. Several commands may run on one node.
        command: text for `sh`, run as root with standard input closed. It ends at `timeout_s`, and if the runner stops.
        timeout_s: limit of this command; its exit code is 124 after it.
        round: commands of a round run together; the next round starts after all of them ended.
        ready: text for `sh` that exits with 0 as soon as the later commands of the round may start; empty: they start
            without delay. It runs on the same node once per second for at most `READY_LIMIT_S`; the round is UNKNOWN
            after it.
        ends_with_others: whether the command is a server, which is ended after the other commands of the round.
            Its exit code is then 0.
    """

    name: str
    node: str
    command: str
    timeout_s: int = 600
    round: int = 1
    ready: str = ""
    ends_with_others: bool = False


READY_LIMIT_S = 30
"""Seconds for a server to accept connections (guess, 2026-11)."""

A = TypeVar("A", bound=ActiveExpectation)


class ActiveCheck(Check[A]):
    """A check that puts load on nodes. Pure, as every check: the runner executes `commands`."""

    is_active: ClassVar[bool] = True
    level: ClassVar[Level] = Level.FULL
    order: ClassVar[int]
    """Place among the active tests of a node, ascending: short tests first, such as 10 for seconds, 900 for hours."""
    may_repeat: ClassVar[bool] = True
    """Whether a measurement without result is repeated once; False for tests of hours."""

    @abstractmethod
    def commands(self, expected: A) -> tuple[NodeCommand, ...]:
        """Return the commands of one test, in the order of their start."""

    def probe(self, expected: A) -> Probe:
        """Return the commands as sections, for evidence, `judge` and tests."""
        commands = self.commands(expected)
        return Probe(
            {each.name: each.command for each in commands},
            timeout_s=duration_s(commands),
            is_exclusive=True,
        )


def repeated(node: str, command: str, *, times: int, timeout_s: int = 600) -> tuple[NodeCommand, ...]:
    """Return one command as several rounds with the names `run1`, `run2` and so on."""
    rounds = range(1, times + 1)
    return tuple(NodeCommand(f"run{each}", node, command, timeout_s=timeout_s, round=each) for each in rounds)


def rounds_of(sections: ProbeSections, expected: int) -> list[str]:
    """Return the texts of `repeated`, in order.

    Raises:
        Unreadable: a round is missing, or did not exit with 0.
    """
    return [sections.text(f"run{each}") for each in range(1, expected + 1)]


def duration_s(commands: Sequence[NodeCommand]) -> int:
    """Return the longest duration of a test: the sum over its rounds."""
    longest: dict[int, int] = {}
    for each in commands:
        longest[each.round] = max(longest.get(each.round, 0), each.timeout_s)
    return sum(longest.values())
