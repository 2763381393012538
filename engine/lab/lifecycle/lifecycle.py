"""Starts and removes a lab.

`up` only repairs a complete lab (an ended daemon, a stopped node), and removes and rebuilds any other. A lab is
complete if its record, which is written last, was written after the last boot of this machine. After `kill -9` at any
point another `up` is sufficient.
"""

from __future__ import annotations

import datetime
import fcntl
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sovctl.support.atomic_files import write_atomic
from sovctl.support.canonical_json import digest
from sovctl.support.errors import Busy, InputError

from .. import layout
from ..artifacts import apt_repository as repository
from ..artifacts import engine_packages, gpu_packages, model_store, pgvector, site_snapshot, tools, wheelhouse
from ..artifacts import node_image as image
from ..hardware import fabric_processes, infiniband_fabric
from ..layout import Lab, Tier
from ..linux import cgroup, mounts, network, process
from ..node import node, shell
from ..node import ssh_access as access
from ..services import certificate, cloud, services
from ..services import reachability as reach
from ..vm import drives, system_image
from . import nodes, requirements

Progress = Callable[[str], None]
_FORMAT = 6  # increase it with each change of the build, so that a newer sovctl rebuilds labs


@dataclass(frozen=True)
class Materials:
    """Inputs of a lab, all from the cache."""

    image: Path
    tools: Path
    repository: Path
    wheels: tuple[Path, ...]
    """Folders with the wheels and Debian packages of environments."""
    drives: Path | None = None
    """Folder with the drives of virtual machines; None for containers."""


@contextmanager
def exclusive(path: Path, what: str, *, waits: Progress | None = None) -> Iterator[None]:
    """Hold a lock. The kernel releases it when this process ends, also if it is killed.

    Args:
        path: of the lock.
        what: name of the locked object, for the message.
        waits: called with a message before waiting for another process; None to raise instead.

    Raises:
        Busy: another process holds the lock, and `waits` is None.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waits is None:
                raise Busy(f"another sovctl uses {what}", where=str(path), hint="wait until it ends") from None
            waits(f"waiting for another sovctl that uses {what}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def ensure_materials(*, preset: str, mirror_uri: str | None, progress: Progress) -> Materials:
    """Return the inputs of a lab; create missing ones in the cache.

    Wheels are downloaded while the image is created, because the image uses another mirror and waits for dpkg.
    """
    with ThreadPoolExecutor(max_workers=1) as other:
        wheels = other.submit(
            lambda: tuple(
                wheelhouse.ensure_wheels(lock, progress=progress)
                for lock in wheelhouse.locks(has_vllm=preset != layout.LLAMA_CPP_PRESET)
            )
        )
        base = image.ensure_image(mirror_uri=mirror_uri, progress=progress)
        fetched = tools.ensure_fetched(base, mirror_uri=mirror_uri, progress=progress)
        standins = gpu_packages.ensure_packages()
        vectors = pgvector.ensure_package(base, mirror_uri=mirror_uri, progress=progress)
        folders = (fetched.packages, standins, vectors)
        packages = [each for folder in folders for each in sorted(folder.glob("*.deb"))]
        packed = repository.ensure_repository(f"apt-{digest([each.name for each in folders])[:16]}", packages)
        engine = (
            ()
            if preset != layout.LLAMA_CPP_PRESET
            else (engine_packages.ensure_packages(mirror_uri=mirror_uri, progress=progress),)
        )
        return Materials(base, fetched.tools, packed, (*wheels.result(), *engine))


def ensure_vm_materials(*, preset: str, mirror_uri: str | None, progress: Progress) -> Materials:
    """Return the inputs of a lab with a virtual machine, which has no pools and needs no wheels."""
    del preset  # there is one
    base = image.ensure_image(mirror_uri=mirror_uri, progress=progress)
    fetched = tools.ensure_fetched(base, mirror_uri=mirror_uri, progress=progress)
    system = system_image.ensure_system(base, mirror_uri=mirror_uri, progress=progress)
    made = drives.ensure_drives(base, system, progress=progress)
    packed = repository.ensure_repository(
        f"apt-{digest([system.packages.name])[:16]}", sorted(system.packages.glob("*.deb"))
    )
    return Materials(base, fetched.tools, packed, (), made)


_MATERIALS = {Tier.CONTAINER: ensure_materials, Tier.VM: ensure_vm_materials}


def up(
    lab: Lab,
    *,
    directory: Path,
    mirror_uri: str | None,
    progress: Progress,
    preset: str = layout.DEFAULT_PRESET,
) -> None:
    """Repair or build a lab. Idempotent.

    Args:
        preset: one of `layout.PRESETS`. A lab of another preset is removed first.
        directory: for keys, secrets and site.yaml.
        mirror_uri: Debian mirror for the image; None for this machine's mirror.
        progress: called with each step.

    Raises:
        Busy: another process uses the lab.
        LabFailure: a step failed; the next `up` removes its remains.
    """
    with exclusive(lab.lock_file, f"lab {lab.name}"):
        with exclusive(layout.cache_folder() / ".lock", "the lab cache", waits=progress):
            materials = _MATERIALS[layout.PRESETS[preset][0].tier](
                preset=preset, mirror_uri=mirror_uri, progress=progress
            )
        public_key = access.ensure_key(directory)
        access.ensure_secrets(directory)
        if lab.preset != preset:
            if lab.state.exists() or network.existing(lab):
                progress(f"removing a lab of preset {lab.preset}")
                clean(lab)
            write_atomic(lab.preset_file, f"{preset}\n")
        if not is_whole(lab):
            if lab.state.exists() or network.existing(lab):
                progress("removing the remains of an earlier lab")
                clean(lab)
            _build(lab, materials)
        if lab.has_mirror_node:
            site_snapshot.ensure(directory, materials.repository, materials.wheels, site=f"lab-{preset}")
        else:
            _publish(lab, materials)
            access.write_repository_key(directory, repository.public_key())
        access.allow_cloud_key(directory, lab.cloud / cloud.KEYS_FILE)
        for each in lab.nodes:
            nodes.of(each).authorize(lab, each, public_key)
        _start(lab, progress)
        for each in lab.nodes:
            nodes.prepare(lab, each, public_key)
        access.write_known_hosts(
            directory, {f"{each.name},{each.address}": node.host_key(lab, each) for each in lab.nodes}
        )
        if lab.tier is Tier.CONTAINER:
            access.write_cabling(directory, infiniband_fabric.plan_text(fabric_processes.planned(lab)))
        access.write_cloud_authority(directory, (lab.cloud / certificate.CA_FILE).read_text())
        if access.ensure_site(directory, preset=preset, namespace=lab.namespace) == "no preset":
            progress("no site.yaml written: this version has no lab preset")
        write_atomic(lab.record_file, json.dumps({"boot_id": _boot_id(), "format": _FORMAT}) + "\n")


def down(lab: Lab, *, purge: bool = False, progress: Progress) -> None:
    """Remove a lab; no effect without one.

    Args:
        purge: also remove the cache. Running labs keep their mounts of it.
        progress: called with each step.
    """
    requirements.require_root()
    with exclusive(lab.lock_file, f"lab {lab.name}"):
        progress(f"taking lab {lab.name} down")
        clean(lab)
        if purge:
            progress(f"removing the cache {layout.cache_folder()}")
            with exclusive(layout.cache_folder() / ".lock", "the lab cache"):
                mounts.remove_tree(layout.cache_folder())
        lab.preset_file.unlink(missing_ok=True)
        lab.lock_file.unlink(missing_ok=True)


def is_whole(lab: Lab) -> bool:
    """Return whether the lab was completely built after the last boot of this machine.

    Its namespaces and mounts, which a start of services cannot repair, must exist too.
    """
    try:
        written = json.loads(lab.record_file.read_text())
    except (OSError, ValueError):
        return False
    return (
        written == {"boot_id": _boot_id(), "format": _FORMAT}
        and network.existing(lab) == list(lab.namespaces)
        and all(nodes.has_disk(lab, each) for each in lab.nodes)
    )


def require_up(lab: Lab) -> None:
    """Raise if the lab is not up.

    Raises:
        InputError: the lab is not up.
        MissingTool: this process is not root.
    """
    requirements.require_root()
    if not is_whole(lab):
        raise InputError(f"lab {lab.name!r} is not up", hint="sovctl lab up")


def clean(lab: Lab) -> None:
    """End the lab's processes and remove its namespaces, mounts, control groups and state."""
    lab.record_file.unlink(missing_ok=True)
    found = [each for each in map(process.recorded, lab.run.glob("*.json")) if each]
    for namespace in network.existing(lab):
        found += process.marked(lab.name, network.processes(namespace))
    process.end(found, grace_s=1.0)
    for each in lab.nodes:
        cgroup.clear(lab.machine(each))
        nodes.of(each).forget(lab, each)
    network.remove(lab)
    mounts.remove_tree(lab.state)


def _build(lab: Lab, materials: Materials) -> None:
    network.build(lab)
    mounts.mount_image(materials.image, lab.image_mount)
    mounts.mount_image(materials.tools, lab.tools_mount)
    mounts.mount_overlay(lab.tools_root.parent, [lab.tools_mount, lab.image_mount])
    services.prepare(lab)
    certificate.make(lab.cloud, address=layout.CLOUD_ADDRESS, now=datetime.datetime.now(datetime.UTC))
    public_key = shell.make_key(lab)
    for each in lab.nodes:
        nodes.make(lab, each, materials.drives)
        nodes.of(each).authorize(lab, each, public_key)


def _publish(lab: Lab, materials: Materials) -> None:
    """Write the files that the lab's web server serves; a running lab gets the new ones."""
    lab.web.mkdir(parents=True, exist_ok=True)
    unfinished = lab.web / ".apt"
    unfinished.unlink(missing_ok=True)
    unfinished.symlink_to(materials.repository)
    unfinished.replace(lab.web / "apt")
    wheelhouse.publish(lab.web / "wheels", list(materials.wheels))
    model_store.publish(lab.web / "models" / "echo")
    model_store.publish(lab.web / "models" / "echo-gguf", source=model_store.ECHO_GGUF)


def _start(lab: Lab, progress: Progress) -> None:
    began = time.monotonic()
    is_new = services.start_all(lab)
    for each in lab.nodes:
        if not nodes.of(each).process(lab, each):
            nodes.of(each).boot(lab, each)
    for each in lab.nodes:
        reach.wait_for(
            lab.namespace,
            each.address,
            22,
            what=f"node {each.name}",
            limit_s=nodes.BOOT_LIMIT_S[each.tier],
            greeting=b"SSH-2.0",
            log=nodes.of(each).console(lab, each),
        )
    services.wait_for_all(lab, is_new=is_new)
    progress(f"{len(lab.nodes)} nodes answer after {time.monotonic() - began:.1f} s")


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
