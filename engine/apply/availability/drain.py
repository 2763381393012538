"""Drains servers of pools on all gateways before a wave, and gives them traffic again after its proof.

- A gateway node runs `sovctl gateway servers`; it confirms that each worker sends the servers no new request.
- A gateway itself needs no drain: when it stops, it announces that in `/readyz` and finishes its requests.
- The reason of a drain begins with `REASON`. Servers with other reasons stay as their operator left them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sovctl.support.errors import ExitCode

from ...plan.serving import Server
from ...resources.context import Context
from ...resources.gateway.service import CONFIG
from ...resources.pool import api_urls, instance
from ...site.site import Site
from ...spec.service_accounts import GATEWAY_USER
from ..outcome import ApplyFailed
from ..remote import Answer, run_on

REASON = "sovctl apply"
_GATEWAY = "/opt/sovctl/gateway/bin/python"
_CONFIRM_S = 30.0
_UNABLE = ("invalid choice: 'servers'", "servers cannot be drained", "expected a server of a pool")
"""Messages of gateways that cannot drain: of an earlier version, without the file, or without the server."""


@dataclass(frozen=True)
class Drained:
    """Result of a drain.

    Args:
        servers: that receive no new requests on any gateway.
        running: requests that were still running at the timeout, by server; empty if all finished.
        unable: gateways that cannot drain, because an earlier version of sovctl runs there.
    """

    servers: frozenset[Server]
    running: Mapping[Server, int]
    unable: tuple[str, ...] = ()


class Drainer(Protocol):
    """The I/O of a drain; a simulation of many nodes implements it too."""

    def drain(self, servers: Collection[Server], *, gateways: Collection[str]) -> Drained:
        """Drain replicas on gateways.

        Args:
            servers: replicas; gateways among them are ignored.
            gateways: nodes whose gateway serves.

        Raises:
            ApplyFailed: a gateway did not confirm.
        """

    def undrain(self, servers: Collection[Server], *, gateways: Collection[str]) -> None:
        """Give replicas traffic again.

        Raises:
            ApplyFailed: a gateway did not confirm.
        """

    def drained(self, *, gateways: Collection[str]) -> dict[Server, str]:
        """Return the reason by replica that is drained on at least one gateway; see `is_ours`.

        A gateway with unusable settings is skipped: all gateways drain the same servers, and `drain` rejects it.
        """


class GatewayDrainer:
    """Drains through the gateway nodes of a site.

    Args:
        reason: shown by `sovctl gateway servers list`; of an apply, it begins with `REASON`.
    """

    def __init__(self, site: Site, context: Context, *, reason: str) -> None:
        self._site, self._reason = site, reason
        self._timeout_s = site.spec.rollout.drain_timeout_s
        self._urls = {Server(each.pool, instance(each)): api_urls(context, each) for each in context.replicas}

    def drain(self, servers: Collection[Server], *, gateways: Collection[str]) -> Drained:
        """Drain replicas, all in one command on each gateway."""
        wanted = [server for server in sorted(servers) if not server.is_gateway]
        if not wanted or not gateways:
            return Drained(frozenset(wanted), {})
        options = ["--reason", self._reason, "--timeout-s", str(self._timeout_s)]
        answers = self._run("drain", options, wanted, gateways, timeout_s=self._timeout_s + _CONFIRM_S)
        running: dict[Server, int] = {}
        for answer in answers.values():
            rows = {row["url"]: row.get("running") for row in _rows(answer)}
            for server in wanted:
                if count := sum(int(rows.get(url) or 0) for url in self._urls[server]):
                    running[server] = max(running.get(server, 0), count)
        unable = tuple(node for node, answer in answers.items() if is_unable(answer))
        return Drained(frozenset(wanted), running, unable)

    def undrain(self, servers: Collection[Server], *, gateways: Collection[str]) -> None:
        """Give replicas traffic again, in one command on each gateway."""
        wanted = [server for server in sorted(servers) if not server.is_gateway]
        if wanted and gateways:
            self._run("undrain", [], wanted, gateways, timeout_s=_CONFIRM_S)

    def drained(self, *, gateways: Collection[str]) -> dict[Server, str]:
        """Return the reason by drained replica; an operator's reason precedes that of an apply."""
        answers = self._run("list", [], [], gateways, timeout_s=_CONFIRM_S)
        rows = [(row["url"], str(row["drained"])) for of in answers.values() for row in _rows(of) if row.get("drained")]
        reasons = dict(sorted(rows, key=lambda row: not is_ours(row[1])))
        found = {server: [reasons[url] for url in urls if url in reasons] for server, urls in self._urls.items()}
        return {server: each[0] for server, each in found.items() if each}

    def _run(
        self,
        subcommand: str,
        options: Sequence[str],
        servers: Iterable[Server],
        gateways: Collection[str],
        *,
        timeout_s: float,
    ) -> dict[str, Answer]:
        """Return the answers by gateway node. A gateway that does not know the command or a server sends it nothing."""
        command = [_GATEWAY, "-m", "sovctl.gateway", "servers", subcommand, "--config", CONFIG, "--json", *options]
        argv = [
            "runuser",
            f"--user={GATEWAY_USER}",
            "--",
            *command,
            *(url for server in servers for url in self._urls[server]),
        ]
        answers = run_on(self._site.spec, self._site.folder, gateways, argv, timeout_s=timeout_s)
        for node, answer in answers.items():
            is_skipped = subcommand == "list" and answer.code == ExitCode.BAD_INPUT
            if answer.code != ExitCode.OK and not is_unable(answer) and not is_skipped:
                reason = answer.error.splitlines()[0] if answer.error else f"exit code {answer.code}"
                raise ApplyFailed(
                    f"{node}: the gateway did not confirm `servers {subcommand}`: {reason}",
                    hint="no node of this wave was changed; "
                    + (
                        f"correct the gateway first: sovctl plan --limit {node}, sovctl apply"
                        if answer.code == ExitCode.BAD_INPUT
                        else "see journalctl --unit sovctl-gateway on the node"
                    ),
                )
        return answers


def is_ours(reason: str) -> bool:
    """Return whether an apply drained a server, by the reason of the drain."""
    return reason.startswith(REASON)


def is_unable(answer: Answer) -> bool:
    """Return whether a gateway cannot drain, because its version or its settings have no such servers.

    Such a gateway sends a new server nothing, or is changed by this apply.
    """
    return answer.code == ExitCode.BAD_INPUT and any(text in answer.error for text in _UNABLE)


def _rows(answer: Answer) -> list[dict[str, Any]]:
    try:
        return list(json.loads(answer.output)) if answer.code == ExitCode.OK else []
    except ValueError:
        return []
