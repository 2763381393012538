"""Parser of perftest: `ib_write_bw`, `ib_read_bw`, `ib_send_bw` and `ib_write_lat`, as text and as `--out_json`.

    parse_perftest(text).results[0].average_gbit_s

- Bandwidth is in Gbit/s with `--report_gbits`. Otherwise it is in MiB/s, which releases before 24.04 call MB/sec.
- `--output=bandwidth` prints a number without a unit and is not readable.
- Server and client print the same results; two different ones in one text are an error.

Source: linux-rdma/perftest, src/perftest_parameters.c and .h (releases 4.5 to 2026-07), and a capture of an HDR
adapter (microsoft/superbenchmark); read 2026-11-28.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..unreadable import MALFORMED, Unreadable

_WHERE = "perftest"
_TITLE = re.compile(r"^\s*(RDMA_Write|RDMA_Read|Send|Atomic)\S*( \S+)*? (BW|Latency) Test\s*$")
_RULE = re.compile(r"^-{20,}\s*$|^\*{20,}\s*$|^\* Waiting for client to connect\.\.\. \*\s*$")
_FIELD = re.compile(r"(\S[^:\t]*?)\s*: ?(\S+(?: \S+)*)(?:\t+|\s{2,}|\s*$)")
_BANDWIDTH_HEADER = re.compile(r"^ *#bytes +#iterations +BW peak\[(\S+)\] +BW average\[(\S+)\] +MsgRate\[Mpps\]")
_LATENCY_HEADER = re.compile(r"^ *#bytes +#iterations +t_min\[usec\] +t_max\[usec\] +t_typical\[usec\] +t_avg\[usec\]")
_GBIT_PER_UNIT = {"Gb/sec": 1.0, "MB/sec": 8 * 2**20 / 1e9, "MiB/sec": 8 * 2**20 / 1e9}
_NUMBER = r"\d{1,15}(?:\.\d{1,15})?"
_LONGEST_LINE = 1000
_ROW = re.compile(rf"^ *\d+(?:\s+{_NUMBER})+\s*$")
_IGNORED = re.compile(r"^ ?(?:WARNING: |Conflicting CPU frequency values detected)|^ ?(?:local|remote) address: ")


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Bandwidth of one message size, in Gbit/s; `messages_mpps` in million messages a second."""

    size_bytes: int
    iterations: int
    average_gbit_s: float
    messages_mpps: float


@dataclass(frozen=True, slots=True)
class Latency:
    """Latency of one message size, in microseconds; `typical_us` is the median."""

    size_bytes: int
    iterations: int
    typical_us: float
    average_us: float
    percentile_99_us: float | None


@dataclass(frozen=True, slots=True)
class Perftest:
    """One run.

    Args:
        test: `RDMA_Write` or another verb.
        device: of the local side.
        link_type: `IB` or `Ethernet`.
        mtu: in bytes; None if it is not printed.
        bandwidths, latencies: by message size, in the order printed; one of both is empty.
    """

    test: str
    device: str
    link_type: str
    mtu: int | None
    bandwidths: tuple[Bandwidth, ...]
    latencies: tuple[Latency, ...]


def parse_perftest(text: str) -> Perftest:
    """Parse the output of one run, of one side or of both; or the JSON of one side.

    Raises:
        Unreadable: a line is unknown, the result is missing, or two results of one size differ.
    """
    return _from_json(text) if text.lstrip().startswith("{") else _from_text(text)


def _from_text(text: str) -> Perftest:
    fields: dict[str, str] = {}
    titles: list[str] = []
    rows: list[Bandwidth | Latency] = []
    header: re.Match[str] | None = None
    for line in text.splitlines():
        if len(line) > _LONGEST_LINE:  # the pattern of fields takes a time that grows with the square of the length
            raise Unreadable("a line of perftest", line, where=_WHERE)
        if title := _TITLE.match(line):
            titles.append(title[1])
        elif match := _BANDWIDTH_HEADER.match(line) or _LATENCY_HEADER.match(line):
            header = match
        elif _ROW.match(line) and header is not None:
            rows.append(_row(line, header))
        elif pairs := _FIELD.findall(line):
            fields.update({name.strip(): value for name, value in pairs if name.strip() not in fields})
        elif line.strip() and not _RULE.match(line) and not _IGNORED.match(line):
            raise Unreadable("a line of perftest", line, where=_WHERE)
    if not titles or len(set(titles)) != 1:
        raise Unreadable("the title of one test", ", ".join(titles) or text, where=_WHERE)
    return _test(titles[0], fields, _distinct(rows))


def _row(line: str, header: re.Match[str]) -> Bandwidth | Latency:
    words = line.split()
    size, iterations = _integer(words[0]), _integer(words[1])
    if header.re is _LATENCY_HEADER:
        if len(words) < 6:
            raise Unreadable("a latency with its average", line, where=_WHERE)
        percentile = float(words[7]) if len(words) > 7 else None
        return Latency(size, iterations, float(words[4]), float(words[5]), percentile)
    unit = _GBIT_PER_UNIT.get(header[2])
    if unit is None or header[1] != header[2] or len(words) < 5:
        raise Unreadable("a bandwidth with its unit", f"{header[2]}: {line}", where=_WHERE)
    return Bandwidth(size, iterations, float(words[3]) * unit, float(words[4]))


def _distinct(rows: list[Bandwidth | Latency]) -> tuple[Bandwidth | Latency, ...]:
    found: dict[int, Bandwidth | Latency] = {}
    for row in rows:
        if found.setdefault(row.size_bytes, row) != row:
            raise Unreadable(f"one result of {row.size_bytes} bytes", "two", where=_WHERE, is_description=True)
    if not found:
        raise Unreadable("a result", "none", where=_WHERE, is_description=True)
    return tuple(found.values())


def _from_json(text: str) -> Perftest:
    try:
        document: Any = json.loads(text)
        info, result = document["test_info"], document["results"]
        fields = {str(name).replace("_", " "): str(value) for name, value in info.items()}
        verb, _, rest = str(info["test"]).replace("RDMA_", "RDMA ", 1).partition("_")
        return _test(verb.replace(" ", "_"), fields, (_json_row(result, is_latency="Latency" in rest),))
    except MALFORMED:
        raise Unreadable("`test_info` and `results`", text, where=_WHERE) from None


def _json_row(result: Mapping[str, Any], *, is_latency: bool) -> Bandwidth | Latency:
    """Return the result. The report has no unit, so bandwidth must come from a run with `--report_gbits`."""
    size, iterations = int(result["MsgSize"]), int(result["n_iterations"])
    if is_latency:
        return Latency(
            size, iterations, float(result["t_typical"]), float(result["t_avg"]), float(result["percentile_99"])
        )
    return Bandwidth(size, iterations, float(result["BW_average"]), float(result["MsgRate"]))


def _test(verb: str, fields: Mapping[str, str], rows: tuple[Bandwidth | Latency, ...]) -> Perftest:
    for name in ("Device", "Link type"):
        if not fields.get(name):
            raise Unreadable(f"`{name}`", "nothing", where=_WHERE, is_description=True)
    mtu = re.match(r"(\d+)(?:\[B\])?$", fields.get("Mtu", ""))
    bandwidths = tuple(_consistent(rows))
    return Perftest(
        test=verb,
        device=fields["Device"],
        link_type=fields["Link type"],
        mtu=int(mtu[1]) if mtu else None,
        bandwidths=bandwidths,
        latencies=tuple(row for row in rows if isinstance(row, Latency)),
    )


def _consistent(rows: tuple[Bandwidth | Latency, ...]) -> Iterator[Bandwidth]:
    """Yield the bandwidths; each must agree with its message rate within 1 % (a wrong unit differs by 16 % or more)."""
    for row in rows:
        if isinstance(row, Bandwidth):
            by_rate = row.messages_mpps * row.size_bytes * 8 / 1000
            rounding = 0.01 + 1e-6 * row.size_bytes * 8 / 1000  # the rate has six decimals
            if abs(by_rate - row.average_gbit_s) > 0.01 * row.average_gbit_s + rounding:
                raise Unreadable(
                    f"a bandwidth of {by_rate:g} Gbit/s by message rate", f"{row.average_gbit_s:g}", where=_WHERE
                )
            yield row


def _integer(word: str) -> int:
    if not (word.isascii() and word.isdecimal()):
        raise Unreadable("a number", word, where=_WHERE)
    return int(word)
