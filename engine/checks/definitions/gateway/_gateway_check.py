"""Expectation of the checks that send requests to the gateway (`probes/scripts/gateway_client.py`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ....facts.unreadable import MALFORMED, Unreadable
from ....resources.credential import TLS
from ....resources.serving.probe_request import served_task
from ....spec import Node
from ....spec.types import Secret
from ...model.check import Check, Expectation
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import python_command


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """One gateway node, as the first client of site.yaml may use it.

    Args:
        url: of the gateway on this node.
        models: model names that the client may request.
        tasks: of their servers, in the same order: `chat`, `embedding`, `reranker` or `asr`.
        cloud_model: one of them that prefers a cloud, so that its identifiers are tokenized; None without such a name.
        key: reference to the client's API key; the probe reads the value from standard input.
    """

    url: str
    models: tuple[str, ...]
    tasks: tuple[str, ...]
    cloud_model: str | None
    key: Secret


class GatewayCheck(Check[Expected]):
    """Expectation; a subclass sends its request and judges the response."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes on which the gateway runs, if the first client may use any route."""
        context = site.context
        if not context.serves_gateway(node):
            return
        client = context.gateway.clients[0]
        routes = [each for each in context.gateway.routes if not client.routes or each.model in client.routes]
        if routes:
            yield Expected(
                url=f"https://{node.address}:{context.gateway.port}",
                models=tuple(each.model for each in routes),
                tasks=tuple(served_task(context, context.pool(each.pool)) for each in routes),
                cloud_model=next((each.model for each in routes if each.cloud and each.prefer == "cloud"), None),
                key=client.api_key,
            )


def gateway_request(
    expected: Expected, mode: str, *arguments: str, has_key: bool = True, interpreter: str = "python3"
) -> Probe:
    """Return a probe that runs `gateway_client.py`.

    Args:
        mode: of the program: `answers`, `unauthenticated` (requests without a valid key), `sealed_values` or `record`.
        has_key: whether the program reads the API key from standard input.
    """
    command = python_command("gateway_client", mode, expected.url, f"{TLS}/ca.pem", *arguments, interpreter=interpreter)
    return Probe({"ask": command}, timeout_s=180, secret=expected.key if has_key else None)


def single_row(output: ProbeOutput) -> dict[str, Any]:
    """Return the only row.

    Raises:
        Unreadable: there are several rows or none, or a row reports an error.
    """
    found = list(rows(output))
    if len(found) != 1:
        raise Unreadable("one answer", f"{len(found)}", where="gateway_client", is_description=True)
    return found[0]


def rows(output: ProbeOutput) -> Iterator[dict[str, Any]]:
    """Yield the JSON lines of `gateway_client.py`.

    Raises:
        Unreadable: a line has another form, or reports an error.
    """
    for line in parse_sections(output).text("ask").splitlines():
        try:
            row = json.loads(line)
        except MALFORMED:
            raise Unreadable("JSON lines", line, where="gateway_client") from None
        if not isinstance(row, dict):
            raise Unreadable("JSON objects", line, where="gateway_client")
        if "error" in row:
            raise Unreadable("an answer from the gateway", str(row["error"]), where="gateway_client")
        yield row
