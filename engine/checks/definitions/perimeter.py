"""The wall: closed by default, nothing gets out but the named exception, and that only from the gateway.

How an attempt ends tells who stopped it. Measured with nft 1.0.6: a datagram that the node's own firewall drops or
rejects fails at once with EPERM; without a route it fails with ENETUNREACH; one that leaves the node succeeds. A TCP
connect that is dropped times out either way, so it proves nothing alone; one that is refused may have been answered
from outside, so it is UNKNOWN.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from ...facts.nftables import Ruleset, parse_ruleset
from ...facts.unreadable import Unreadable, excerpt
from ..model.check import Expectation, Judgement, ProbeOutput, failed, unknown, worst
from ..model.probe_sections import read_parts

TABLE = ("inet", "sovctl")
HOOKS = ("input", "forward", "output")

# How attempts end (probe_scripts/reach.py), and what that says of the wall.
STOPPED_TCP = frozenset({"timeout", "no-route", "denied"})
STOPPED_UDP = frozenset({"no-route", "denied"})
GOT_OUT_TCP = frozenset({"connected"})
GOT_OUT_UDP = frozenset({"sent"})


@dataclass(frozen=True, kw_only=True)
class WallExpectation(Expectation):
    """The table and hooks are the same on every node."""


@dataclass(frozen=True)
class Endpoint:
    """An address and port outside."""

    address: str
    port: int

    def __str__(self) -> str:
        return f"{self.address}:{self.port}"


@dataclass(frozen=True, kw_only=True)
class NoWayOutExpectation(Expectation):
    """Places outside that must not be reached by anybody's process but the gateway's."""

    endpoints: tuple[Endpoint, ...]


@dataclass(frozen=True, kw_only=True)
class ExceptionExpectation(Expectation):
    """The named exceptions, seen from one node.

    Args:
        endpoints: every exception.
        is_gateway: on a gateway node the gateway's user must get through, everybody else must not.
        expired: exceptions that are over: closed for the gateway too.
    """

    endpoints: tuple[Endpoint, ...]
    is_gateway: bool
    expired: tuple[Endpoint, ...] = ()


@dataclass(frozen=True)
class Attempt:
    """How one attempt to reach out ended."""

    endpoint: Endpoint
    tcp: str
    udp: str


def judge_default_drop(output: ProbeOutput, _expectation: WallExpectation) -> Judgement:
    """All three hooks drop what no rule names, and no rule names everything."""
    ruleset = parse_ruleset(read_parts(output).text("ruleset"))
    return worst(
        _wall(ruleset), otherwise=f"expected policy drop on {', '.join(HOOKS)} of table inet sovctl, got that on all"
    )


def _wall(ruleset: Ruleset) -> Iterator[Judgement]:
    if TABLE not in ruleset.tables:
        yield failed("table inet sovctl", "no such table")
        return
    chains = ruleset.base_chains(*TABLE)
    for hook in HOOKS:
        chain = chains.get(hook)
        if chain is None:
            yield failed(f"a filter chain on {hook}", "none")
        elif chain.policy != "drop":
            yield failed(f"policy drop on {hook}", str(chain.policy))
    for rule in ruleset.rules:
        if (rule.family, rule.table) == TABLE and rule.meets_everything and rule.verdict == "accept":
            yield failed("no rule that lets everything through", f"one in chain {rule.chain}, handle {rule.handle}")


def judge_no_way_out(output: ProbeOutput, expectation: NoWayOutExpectation) -> Judgement:
    """Root on the node cannot reach any of the endpoints."""
    attempts = read_attempts(read_parts(output).text("root"), expectation.endpoints)
    findings = [each for attempt in attempts for each in _stopped(attempt, "root")]
    how = ", ".join(f"{each.endpoint} {each.udp}" for each in attempts)
    return worst(findings, otherwise=f"expected every attempt stopped on the node, got that: {how}")


def judge_exceptions(output: ProbeOutput, expectation: ExceptionExpectation) -> Judgement:
    """Each exception works for the gateway's user on a gateway node, and for nobody else."""
    parts = read_parts(output)
    findings: list[Judgement] = []
    for attempt in read_attempts(parts.text("root"), expectation.endpoints):
        findings += _stopped(attempt, "root")
    if expectation.is_gateway:
        for attempt in read_attempts(parts.text("gateway"), expectation.endpoints):
            if attempt.endpoint in expectation.expired:
                findings += _stopped(attempt, "the gateway, the exception being expired")
            elif attempt.tcp != "connected":
                findings.append(failed(f"{attempt.endpoint} open for the gateway", attempt.tcp))
    names = ", ".join(map(str, expectation.endpoints))
    return worst(
        findings,
        otherwise=f"expected {names} open for the gateway's user alone, got that"
        if expectation.is_gateway
        else f"expected {names} closed from here, got that",
    )


def read_attempts(text: str, endpoints: tuple[Endpoint, ...]) -> tuple[Attempt, ...]:
    """Attempts as `probe_scripts/reach.py` prints them, one JSON line each, exactly one per endpoint in order.

    Raises:
        Unreadable: one is missing or strange.
    """
    try:
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
        attempts = tuple(Attempt(Endpoint(r["address"], r["port"]), str(r["tcp"]), str(r["udp"])) for r in rows)
    except (ValueError, KeyError, TypeError):
        raise Unreadable("one JSON line per attempt", text, where="reach") from None
    if tuple(each.endpoint for each in attempts) != endpoints:
        raise Unreadable(f"{len(endpoints)} attempts", f"{len(attempts)}", where="reach", in_our_words=True)
    return attempts


def _stopped(attempt: Attempt, who: str) -> Iterator[Judgement]:
    where = f"{attempt.endpoint} out of reach for {who}"
    for protocol, how, got_out, stopped in (
        ("TCP", attempt.tcp, GOT_OUT_TCP, STOPPED_TCP),
        ("UDP", attempt.udp, GOT_OUT_UDP, STOPPED_UDP),
    ):
        if how in got_out:
            yield failed(where, f"{protocol} {how}")
        elif how not in stopped:
            yield unknown(where, f"{protocol} {excerpt(how)}")
