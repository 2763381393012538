"""Parts of a lock for Python environments: one for each environment and platform of nodes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from sovctl.support.canonical_json import sha256_hex

from ..resources.context import Context
from ..resources.software.environment import wanted_on
from .part import Part
from .refused import LockRefused
from .targets import NodeTarget
from .wheels import Platform, Uv, WheelSources, compile_lock, driver_floor, locked_wheels

CHECKED = "closed: uv resolved the same files again offline, in a network namespace without routes"
NOT_CHECKED = "not run: --no-closure-check"


def environment_parts(
    context: Context, targets: Sequence[NodeTarget], sources: WheelSources, *, check: bool
) -> Iterator[Part]:
    """Yield the parts, sorted by environment and platform.

    Raises:
        LockRefused: an environment cannot be resolved for the nodes, or its CUDA needs a newer driver.
    """
    if context.engine.packages != "wheel" and context.replicas:
        reason = f"{context.engine.name} is not installed from wheels; {context.engine.lab_only}"
        raise LockRefused([reason], where="software.engine", hint="locks are for sites with the engine vllm")
    needed = _needed(context, targets)
    _check_driver(context, targets)
    with tempfile.TemporaryDirectory(prefix="sovctl-uv-") as cache:
        uv = Uv(Path(cache)) if needed else None
        for name, platform in needed:
            assert uv is not None
            lock, identity = context.locks[name], f"wheels-{name}-{platform.name}-py{platform.python}"
            document = compile_lock(uv, lock, platform, sources, where=identity)
            if check and compile_lock(uv, lock, platform, sources, where=identity, offline=True) != document:
                raise LockRefused(["a second resolution without network differs"], where=identity, hint="run it again")
            packages = locked_wheels(document, lock, platform, sources, where=identity)
            roots = tuple(f"{each.name}=={each.version}" for each in packages)
            yield Part(
                id=identity,
                kind="wheel",
                target={
                    "environment": name,
                    "platform": platform.name,
                    "python": platform.python,
                    "glibc": platform.glibc,
                },
                roots=roots,
                roles={name: roots},
                packages=packages,
                solver={
                    "tool": "uv",
                    "version": uv.version(),
                    "lock": lock.name,
                    "lock_sha256": sha256_hex(lock.read_bytes()),
                },
                closure_check=CHECKED if check else NOT_CHECKED,
            )


def _needed(context: Context, targets: Sequence[NodeTarget]) -> list[tuple[str, Platform]]:
    found = set()
    for each in targets:
        for wanted in wanted_on(context, each.node):
            if each.python is None or each.glibc is None:
                raise LockRefused(
                    ["its Python or its glibc was not measured"],
                    where=f"node {each.node.name}",
                    hint="collect the inventory again",
                )
            found.add((wanted.name, each.python, each.machine, each.glibc))
    return [(name, Platform(python, machine, glibc)) for name, python, machine, glibc in sorted(found)]


def _check_driver(context: Context, targets: Sequence[NodeTarget]) -> None:
    """Refuse a driver that is older than the CUDA libraries of the engine require."""
    engine_lock = context.locks[context.engine.environment]
    floor, branch = driver_floor(engine_lock), int(context.lock.values["branch"])
    if floor is None or branch >= floor:
        return
    serving = [each.node.name for each in targets if each.has_gpus and context.replicas_on(each.node)]
    if serving:
        reason = f"{engine_lock.name} needs driver branch {floor} or later, got {branch}"
        raise LockRefused([reason], where=f"node {serving[0]}", hint="choose another `software.lock` in site.yaml")
