"""Expectation and probe of the checks of a pool's client certificates (`probes/scripts/mutual_tls.py`)."""

from __future__ import annotations

from collections.abc import Iterator

from ....resources.credential import TLS
from ....spec import Node
from ...model.check import Check
from ...model.check_context import CheckContext
from ...model.probe import Probe
from ...probes.commands import python_command
from ...probes.mutual_tls import CONTROL_PATH
from ._replicas import Expected, heads_on

UNAUTHENTICATED_PATHS = (
    *("/invocations", "/tokenize", "/metrics", "/pooling", "/classify", "/score", "/rerank", "/generative_scoring"),
    *("/pause", "/resume", "/scale_elastic_ep", "/init_weight_transfer_engine", "/update_weights", "/detokenize"),
    *("/sleep", "/wake_up", "/collective_rpc", "/server_info", "/reset_prefix_cache", "/docs"),
)
"""Paths that the API key of vLLM does not protect. Source: vLLM 0.32.0, docs/usage/security.md."""


class MutualTlsCheck(Check[Expected]):
    """Expectation and probe; a subclass judges one aspect."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every replica whose first rank is on the node."""
        return heads_on(site, node)

    def probe(self, expected: Expected) -> Probe:
        """Connect to the pool with a client certificate, without one, and in plain HTTP."""
        identity = (f"{TLS}/ca.pem", f"{TLS}/node.pem", f"{TLS}/node.key")
        address, port = expected.address, str(expected.port)
        command = python_command("mutual_tls", address, port, *identity, CONTROL_PATH, *UNAUTHENTICATED_PATHS)
        return Probe({"ways": command}, timeout_s=120)
