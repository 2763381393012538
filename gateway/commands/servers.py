"""`sovctl gateway servers drain|undrain|list`: takes servers of pools out of use, and back, while gateways serve.

Run it as the gateway's user on a machine with its settings. `drain` returns when every worker sends the servers no new
request, and the servers have no running request, or after `--timeout-s`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from sovctl.support.errors import ExitCode, InputError, SovctlError

from ..settings import GatewaySettings, UpstreamKind, load_settings

_CONFIRM_WITHIN_S = 15.0  # a worker reads the file twice a second
_PAUSE_S = 0.25


def add_subcommands(parser: argparse.ArgumentParser, config: Path) -> None:
    """Declare the subcommands of `servers`."""
    subparsers = parser.add_subparsers(dest="servers_command", required=True)
    for word, about in (
        ("drain", "send these servers no new request, and wait for their running ones"),
        ("undrain", "send these servers requests again"),
        ("list", "show the servers of pools, and which are drained"),
    ):
        sub = subparsers.add_parser(word, help=about, description=about)
        sub.add_argument("--config", type=Path, default=config, metavar="FILE")
        sub.add_argument("--json", action="store_true", help="one JSON document")
        if word != "list":
            sub.add_argument("urls", nargs="+", metavar="URL", help="a base URL of a pool, as in the settings")
        if word == "drain":
            sub.add_argument("--reason", default="operator", help="shown by `list`")
            sub.add_argument("--timeout-s", type=float, default=300.0, help="for running requests; 0: do not wait")


def run(options: argparse.Namespace) -> int:
    """Run a subcommand; return the exit code.

    Raises:
        SovctlError: the settings are unusable, a URL is unknown, or a worker does not follow.
    """
    from ..upstream import drained_servers

    settings = load_settings(options.config)
    path = settings.routing.drained_servers_file
    if path is None:
        raise InputError(
            "servers cannot be drained", where=f"{options.config}: routing.drained_servers_file", hint="set it"
        )
    drained = drained_servers.read(path)
    running: dict[str, int | None] = {}
    if options.servers_command != "list":
        _require_known(settings, options.urls)
        is_drain = options.servers_command == "drain"
        drained = {url: reason for url, reason in drained.items() if url not in options.urls}
        if is_drain:
            drained |= dict.fromkeys(options.urls, options.reason)
        drained_servers.write(path, drained)
        _wait_for_workers(path)
        if is_drain:
            running = asyncio.run(_wait_for_requests(settings, options.urls, timeout_s=options.timeout_s))
    found: list[dict[str, str | int | None]] = [
        {"url": url, "drained": drained.get(url), **({"running": running[url]} if url in running else {})}
        for url in _known(settings)
    ]
    text = json.dumps(found, indent=2) if options.json else "\n".join(map(_in_words, found))
    sys.stdout.write(text + "\n")
    return ExitCode.OK


def _known(settings: GatewaySettings) -> list[str]:
    pools = [each for each in settings.upstreams if each.kind is UpstreamKind.POOL]
    return list(dict.fromkeys(str(url) for each in pools for url in each.base_urls))


def _require_known(settings: GatewaySettings, urls: Sequence[str]) -> None:
    known = _known(settings)
    if absent := [url for url in urls if url not in known]:
        raise InputError(f"expected a server of a pool, one of {', '.join(known) or 'none'}, got {absent[0]}")


def _wait_for_workers(path: Path) -> None:
    from ..upstream import drained_servers

    until = time.monotonic() + _CONFIRM_WITHIN_S
    while late := drained_servers.unconfirmed(path):
        if time.monotonic() >= until:
            raise SovctlError(
                f"worker {late[0]} of the gateway did not confirm within {_CONFIRM_WITHIN_S:.0f} s",
                hint="restart the gateway; its log has the cause",
            )
        time.sleep(_PAUSE_S)


async def _wait_for_requests(
    settings: GatewaySettings, urls: Sequence[str], *, timeout_s: float
) -> dict[str, int | None]:
    """Return the running and waiting requests of each server once they are 0, or at the timeout; None if unknown."""
    from ..upstream import Upstream

    until = time.monotonic() + timeout_s
    pools = [each for each in settings.upstreams if {str(url) for url in each.base_urls} & set(urls)]
    running: dict[str, int | None] = {}
    for pool in pools:
        async with Upstream(pool, settings.limits, settings.routing) as upstream:
            waited = [server for server in upstream.servers if server.url in urls]
            zeros = 0  # two readings, because a request may be on its way to the server
            while zeros < 2:
                for server in waited:
                    load = await upstream.load_of(server)
                    running[server.url] = None if load is None else load.running + load.waiting
                zeros = zeros + 1 if all(running[server.url] == 0 for server in waited) else 0
                if time.monotonic() >= until:
                    break
                await asyncio.sleep(_PAUSE_S)
    return running


def _in_words(server: dict[str, str | int | None]) -> str:
    state = f"drained ({server['drained']})" if server["drained"] is not None else "in use"
    if "running" in server:
        state += f", {'unknown' if server['running'] is None else server['running']} running"
    return f"{server['url']}  {state}"
