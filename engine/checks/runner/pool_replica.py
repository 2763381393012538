"""Asks a replica of a pool on its node, before gateways route to it: for `sovctl evaluate --on-node`.

    with on_node(site, "chat") as replica:
        replica.model_sha256, replica.answer("2 + 3 = ?", max_tokens=16)

The program `ask_pool` runs on the node over ssh, with the certificate of the node. Questions are its standard input,
and answers its output; neither is stored.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sovctl.support.errors import InputError, NodeUnreachable, SovctlError

from ...facts.unreadable import MALFORMED, Unreadable, excerpt
from ...resources import pool as pool_resource
from ...resources.credential import TLS
from ...site.site import Site
from ..definitions.pool._binding import model_command, model_of
from ..definitions.pool._replicas import Expected, heads_on
from ..definitions.pool.evaluation import release_of
from ..model.check_context import CheckContext
from ..model.probe import Probe, ProbeOutput
from ..model.probe_sections import parse_sections
from ..probes.commands import python_command
from .build_context import build_context
from .transport import GRACE_S, as_root, close_connections, node_host, ssh_config

TIMEOUT_S = 300

Run = Callable[[str, bytes, int], ProbeOutput]
"""Runs a command as root on the node: command, standard input, seconds."""


@dataclass(frozen=True)
class NodeReplica:
    """A replica that is asked on its node.

    Args:
        node: name.
        model: name of the model in requests.
        model_sha256: digest of the model's manifest on the node.
        engine_version: release of the running engine.
    """

    node: str
    address: str
    port: int
    model: str
    model_sha256: str
    engine_version: str
    run: Run
    interpreter: str = "python3"
    tls: str = TLS

    def answer(self, question: str, *, max_tokens: int) -> tuple[str, int]:
        """Return the answer at temperature 0, and the number of its tokens.

        Raises:
            NodeUnreachable: no answer of the node.
            SovctlError: the replica does not answer, or refuses; the message has no part of question and answer.
        """
        identity = (f"{self.tls}/ca.pem", f"{self.tls}/node.pem", f"{self.tls}/node.key")
        words = (self.address, str(self.port), *identity, self.model, str(max_tokens))
        command = python_command("ask_pool", *words, interpreter=self.interpreter)
        output = self.run(command, json.dumps({"question": question}).encode(), TIMEOUT_S)
        if output.exit_code is None:
            raise NodeUnreachable("no answer of the node", where=self.node)
        try:
            found = json.loads(output.stdout)
            if "error" in found:
                raise SovctlError(f"no answer of the replica: {found['error']}", where=self.node)
            return str(found["text"]), int(found["tokens"])
        except MALFORMED:
            raise SovctlError("expected one JSON object of the program, got another output", where=self.node) from None


@contextmanager
def on_node(site: Site, pool: str) -> Iterator[NodeReplica]:
    """Yield the first replica of a pool, whose model and engine are those of site.yaml.

    Raises:
        InputError: site.yaml has no such pool, or the pool has no replica on an available node.
        NodeUnreachable: no answer of the node.
        SovctlError: the node has another model or engine than site.yaml; apply first.
    """
    if pool not in {each.name for each in site.spec.pools}:
        names = ", ".join(sorted(each.name for each in site.spec.pools))
        raise InputError(f"expected one of the pools {names}, got {pool!r}", where="--pool")
    context = build_context(site, today=datetime.now(UTC).date())
    node, expected = _first(context, pool)
    with tempfile.TemporaryDirectory(prefix="sovctl-evaluate-") as folder:
        config = Path(folder) / "ssh_config"
        config.write_text(ssh_config(site.spec, site.folder, Path(folder)))
        host = node_host(node, config)

        def run(command: str, stdin: bytes, timeout_s: int) -> ProbeOutput:
            done = host.run(as_root(command, timeout_s), timeout_s=timeout_s + GRACE_S, stdin=stdin)
            out, err = (each.decode("utf-8", "replace") for each in (done.stdout_bytes, done.stderr_bytes))
            return ProbeOutput(done.rc if 0 <= done.rc < 255 else None, out, err)

        try:
            yield connected(site, pool, node, expected, run)
        finally:
            close_connections(config, [node])


def connected(site: Site, pool: str, node: str, expected: Expected, run: Run) -> NodeReplica:
    """Return the replica after a comparison of its model and engine with site.yaml; see `on_node`."""
    spec = site.spec
    model = next(each.model for each in spec.pools if each.name == pool)
    wanted = next(each for each in spec.models if each.name == model)
    identity = (f"{TLS}/ca.pem", f"{TLS}/node.pem", f"{TLS}/node.key")
    api = python_command("server_api", expected.address, str(expected.port), *identity)
    output = run(Probe({"model": model_command(wanted.name), "api": api}).command, b"", TIMEOUT_S)
    if output.exit_code is None:
        lines = [line for line in output.stderr.splitlines() if line.strip()]
        why = excerpt(lines[-1]) if lines else "no message"  # ssh prints its error after any banner of the server
        raise NodeUnreachable(f"no answer of the node: {why}", where=node)
    try:
        sections = parse_sections(output)
        found = (model_of(sections), release_of(sections))
    except Unreadable as error:
        raise SovctlError(str(error), where=node, hint="sovctl verify --check 'pool.*'") from None
    for name, planned, got in zip(
        ("model", "engine"), (wanted.manifest_sha256, spec.software.engine_version), found, strict=True
    ):
        if planned != got:
            raise SovctlError(
                f"expected {name} {planned[:12]} of site.yaml, got {got[:12]}",
                where=node,
                hint="apply site.yaml before the evaluation: sovctl plan, sovctl apply",
            )
    served = str(expected.flags.get("served-model-name", wanted.name))
    return NodeReplica(node, expected.address, expected.port, served, *found, run=run)


def _first(context: CheckContext, pool: str) -> tuple[str, Expected]:
    names = {pool_resource.instance(each): each.pool for each in context.context.replicas}
    for _, node in context.context.spec.nodes():
        for expected in heads_on(context, node):
            if names[expected.subject] == pool:
                return node.name, expected
    raise InputError(f"expected a replica of pool {pool} on an available node, got none", hint="sovctl node list")
