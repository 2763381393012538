"""Parsers of error counters: `ibqueryerrors` of a whole fabric, and `perfquery` of ports.

`ibqueryerrors` lists only counters that are not zero. Its summary gives the number of checked nodes and ports, which
distinguishes a fabric without errors from a query that reached no node. It also lists the thresholds and suppressed
counters, which hide errors: a file on the node can set them (measured on ibsim 0.10, 2026-11-28).

Sources: infiniband-diags 44, ibqueryerrors(8), perfquery(8); their output on ibsim 0.10 (2026-11-28); capture of
perfquery (treydock/infiniband_exporter, read 2026-11-20).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..numbers import integer
from ..unreadable import Unreadable

_NODE = re.compile(r'^Errors for (?:0x[0-9a-f]+ )?"(?P<name>.*)"$')
_PORT = re.compile(r"^ +GUID 0x(?P<guid>[0-9a-f]{1,16}) port (?P<port>\d+|ALL): (?P<counters>\[.*\])$")
_COUNTER = re.compile(r"\[(\w+) == (\d+)[^\]]*\]")
_PARTNER = re.compile(
    r"^ +Link info: +\d+ +\d+\[.*?\] ==\(.*\)==> +(?:0x[0-9a-f]+ +\d+ +(?P<port>\d+))?\[.*?\] "
    r"\"(?P<name>.*)\" \([^()]*\)$"
)
_HIDDEN = re.compile(r"^## (?P<option>Thresholds|Suppressed):(?P<words>.*)$")
_SUMMARY = re.compile(r"^## Summary: (?P<nodes>\d+) nodes checked, (?P<bad>\d+) bad nodes found$")
_PORTS = re.compile(r"^## +(?P<ports>\d+) ports checked, (?P<bad>\d+) ports have errors beyond threshold$")
_FAILURES = re.compile(r"^## +(?P<failures>\d+) PMA query failures$")
_QUERIED = re.compile(r"^# Port (?:extended )?counters: Lid (?P<lid>\d+) port (?P<port>\d+)(?: \(.*\))?$")
_VALUE = re.compile(r"^(?P<name>\w+):\.*(?P<value>0x[0-9a-f]+|\d+)$")


@dataclass(frozen=True, slots=True)
class PortErrors:
    """Counters of one port that are not zero.

    Args:
        guid: of the port of an adapter, of the node of a switch; 16 hex digits.
        partner: `leaf4 port 2`, the other end of the link; None without a link, or without `--report-port`.
    """

    device: str
    guid: str
    port: int
    counters: Mapping[str, int]
    partner: str | None = None

    @property
    def link(self) -> str:
        """Both ends of the link; only the port if the other end is unknown."""
        own = f"{self.device} port {self.port}"
        return f"{own} - {self.partner}" if self.partner else own


@dataclass(frozen=True, slots=True)
class FabricErrors:
    """Result of `ibqueryerrors`.

    Args:
        failures: ports that did not return their counters.
        hidden: thresholds and suppressed counters, as printed; empty if the tool lists every error.
    """

    nodes: int
    ports: int
    failures: int
    errors: tuple[PortErrors, ...]
    hidden: str = ""


@dataclass(frozen=True, slots=True)
class PortCounters:
    """All counters of one port, as `perfquery` prints them."""

    lid: int
    port: int
    counters: Mapping[str, int]


def parse_ibqueryerrors(text: str) -> FabricErrors:
    """Return the ports with errors, in the order of the text.

    Raises:
        Unreadable: the summary is missing or contradicts the ports, or a line has an unknown format.
    """
    found: list[PortErrors] = []
    totals: dict[str, int] = {}
    device: str | None = None
    hidden: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        if match := _HIDDEN.match(line):
            hidden[match["option"]] = match["words"].strip()
        elif match := _NODE.match(line):
            device = match["name"]
        elif (match := _PARTNER.match(line)) and found:
            found[-1] = replace(found[-1], partner=f"{match['name']} port {match['port']}" if match["port"] else None)
        elif (match := _PORT.match(line)) and device is not None:
            if match["port"] != "ALL":
                counters = {name: integer(value) for name, value in _COUNTER.findall(match["counters"])}
                if match["counters"].count("[") != len(counters):
                    raise Unreadable("counters and values", line, where="ibqueryerrors")
                found.append(PortErrors(device, match["guid"].zfill(16), integer(match["port"]), counters))
        elif match := _SUMMARY.match(line):
            totals |= {"nodes": integer(match["nodes"])}
        elif match := _PORTS.match(line):
            totals |= {"ports": integer(match["ports"]), "bad": integer(match["bad"])}
        elif match := _FAILURES.match(line):
            totals |= {"failures": integer(match["failures"])}
        else:
            raise Unreadable("a line of ibqueryerrors", line, where="ibqueryerrors")
    if "nodes" not in totals or "ports" not in totals or len(hidden) != 2:
        raise Unreadable("the summary of ibqueryerrors", text, where="ibqueryerrors")
    if totals["bad"] != len(found):
        raise Unreadable(f"{totals['bad']} ports with errors", f"{len(found)} lines", where="ibqueryerrors")
    return FabricErrors(
        totals["nodes"],
        totals["ports"],
        totals.get("failures", 0),
        tuple(found),
        " ".join(filter(None, hidden.values())),
    )


def parse_perfquery(text: str) -> tuple[PortCounters, ...]:
    """Return the counters of each port, in the order of the text.

    Raises:
        Unreadable: the text is empty, a line has an unknown format, or a port has no counters of link errors.
    """
    ports: list[tuple[int, int, dict[str, int]]] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        if match := _QUERIED.match(line):
            ports.append((integer(match["lid"]), integer(match["port"]), {}))
        elif (match := _VALUE.match(line)) and ports:
            ports[-1][2][match["name"]] = integer(match["value"], 0)
        else:
            raise Unreadable("a line of perfquery", line, where="perfquery")
    if not ports:
        raise Unreadable("counters of a port", text, where="perfquery")
    for lid, port, counters in ports:
        if not {"SymbolErrorCounter", "LinkDownedCounter", "QP1Dropped"} <= counters.keys():
            raise Unreadable(f"all counters of LID {lid} port {port}", ", ".join(counters), where="perfquery")
    return tuple(PortCounters(lid, port, counters) for lid, port, counters in ports)
