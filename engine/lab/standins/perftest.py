"""Simulated `ib_write_bw` and `ib_write_lat` of perftest: a server and a client that meet over TCP, as the real ones.

Both sides exchange what their adapters can do, and the slower one decides. Formats and messages are those of perftest
(src/perftest_parameters.c, releases 4.5 to 2026-07).
"""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path

from .board import SIMULATED, Board, Facts

DEFAULT_PORT = 18515
_WAIT_S = 60.0
_RULE = "-" * 87 + "\n"
_WITH_VALUE = ("-d", "-p", "-s", "-D", "-n", "-i")
_FLAGS = ("-F", "--report_gbits")
_NOMINAL = {"400 Gb/sec (4X NDR)": 1.0, "200 Gb/sec (4X HDR)": 0.5}


def write_bw(arguments: list[str], root: Path = Path("/")) -> int:
    """Run ib_write_bw. Return the exit code of the real program."""
    return _run(arguments, root, is_latency=False)


def write_lat(arguments: list[str], root: Path = Path("/")) -> int:
    """Run ib_write_lat. Return the exit code of the real program."""
    return _run(arguments, root, is_latency=True)


def abilities(nic: Facts) -> dict[str, float]:
    """Return bandwidth and latency of an adapter: half the bandwidth at half the rate."""
    share = _NOMINAL.get(nic["rate"], 0.25)
    return {"gbit_s": min(nic["write_gbit_s"], 392.5 * share), "latency_us": nic["write_latency_us"]}


def report(device: str, found: dict[str, float], *, size: int, is_latency: bool) -> str:
    """Return the output of one side."""
    title = "RDMA_Write Latency Test" if is_latency else "RDMA_Write BW Test"
    head = (
        f"{_RULE}                    {title}\n Dual-port       : OFF\t\tDevice         : {device}\n"
        " Number of qps   : 1\t\tTransport type : IB\n Connection type : RC\t\tUsing SRQ      : OFF\n"
        f" Hardware        : {SIMULATED}\n Mtu             : 4096[B]\n Link type       : IB\n"
        f" Data ex. method : Ethernet\n{_RULE}"
    )
    if is_latency:
        typical = found["latency_us"]
        columns = "t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
        times = (typical - 0.2, typical + 7, typical, typical + 0.02, 0.06, typical + 0.3, typical + 4)
        values = "          ".join(f"{each:.2f}" for each in times)
        header = f" #bytes #iterations    {columns}   99% percentile[usec]   99.9% percentile[usec] \n"
        return f"{head}{header} {size}       10000          {values}\n{_RULE}"
    rate = found["gbit_s"]
    header = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
    row = f" {size}    100000           0.00               {rate:.2f}\t\t     {rate * 1000 / 8 / size:.6f}\n"
    return f"{head}{header}{row}{_RULE}"


def _run(arguments: list[str], root: Path, *, is_latency: bool) -> int:
    options, server = _parse(arguments)
    board = Board(root)
    nic = next((each for each in board.nics if each["name"] == options.get("-d")), None)
    if nic is None:
        return _fail(f"IB device {options.get('-d')} not found\n Unable to find the Infiniband/RoCE device")
    if nic["state"] != "4: ACTIVE":
        return _fail(" Port number 1 state is Down\n Couldn't set the link layer\n Couldn't get context for the device")
    if nic["perftest_hangs"]:
        time.sleep(24 * 3600)
    port, mine = int(options.get("-p", DEFAULT_PORT)), abilities(nic)
    try:
        theirs = _serve(port, mine) if server is None else _ask(server, port, mine)
    except OSError:
        return _fail(f"Couldn't connect to {server}:{port}\nUnable to open file descriptor for socket connection")
    found = {
        "gbit_s": min(mine["gbit_s"], theirs["gbit_s"]),
        "latency_us": max(mine["latency_us"], theirs["latency_us"]),
    }
    size = int(options.get("-s", "2" if is_latency else "65536"))
    print(report(nic["name"], found, size=size, is_latency=is_latency), end="")  # noqa: T201 - this is a program
    return 0


def _parse(arguments: list[str]) -> tuple[dict[str, str], str | None]:
    """Return options with their values, and the server; the program has no other words."""
    options: dict[str, str] = {}
    server = None
    words = iter(arguments)
    for word in words:
        if word in _WITH_VALUE:
            options[word] = next(words, "")
        elif word not in _FLAGS:
            server = word
    return options, server


def _serve(port: int, mine: dict[str, float]) -> dict[str, float]:
    with socket.create_server(("0.0.0.0", port)) as listener:  # noqa: S104 - as perftest
        listener.settimeout(_WAIT_S)
        channel, _ = listener.accept()
        with channel:
            return _exchange(channel, mine)


def _ask(server: str, port: int, mine: dict[str, float]) -> dict[str, float]:
    with socket.create_connection((server, port), timeout=_WAIT_S) as channel:
        return _exchange(channel, mine)


def _exchange(channel: socket.socket, mine: dict[str, float]) -> dict[str, float]:
    channel.settimeout(_WAIT_S)
    channel.sendall(json.dumps(mine).encode() + b"\n")
    theirs: dict[str, float] = json.loads(channel.makefile().readline() or "null")
    if not isinstance(theirs, dict):
        raise ConnectionError("the other side ended")
    return theirs


def _fail(message: str) -> int:
    os.write(2, f"{message}\n".encode())
    return 1
