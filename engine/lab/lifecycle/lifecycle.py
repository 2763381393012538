"""Bringing a lab up and taking it down.

`up` looks at what is there: a whole lab is only mended (a dead daemon, a node that was switched off), anything else
is cleaned and built again. Whole means that the record, which is written last, is there and was written since this
machine started. So `kill -9` at any point costs nothing but a second `up`.
"""

from __future__ import annotations

import datetime
import fcntl
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sovctl.support.atomic_files import write_atomic
from sovctl.support.canonical_json import digest
from sovctl.support.errors import Busy, InputError

from .. import layout
from ..artifacts import apt_repository as repository
from ..artifacts import gpu_packages, model_store, tools, wheelhouse
from ..artifacts import node_image as image
from ..hardware import board_files
from ..hardware import infiniband_fabric as fabric
from ..layout import NODES, Lab
from ..linux import cgroup, mounts, network, process
from ..node import node, shell
from ..node import ssh_access as access
from ..services import certificate, cloud, services
from ..services import reachability as reach
from . import doctor

Progress = Callable[[str], None]
_FORMAT = 4  # raise it when what is built changes, so that `up` of a newer sovctl builds anew
_BOOT_LIMIT_S = 60.0  # measured: 1.4 s for three nodes on two idle cores; the rest is for a loaded machine


@dataclass(frozen=True)
class Materials:
    """What a lab is made of, all from the cache."""

    image: Path
    tools: Path
    repository: Path
    wheels: tuple[Path, ...]


@contextmanager
def exclusive(path: Path, what: str, *, waits: Progress | None = None) -> Iterator[None]:
    """Hold a lock that the kernel releases however we end.

    Args:
        path: of the lock.
        what: is held, for the message.
        waits: told when somebody else holds it, before waiting for him; without it that is an error.

    Raises:
        Busy: somebody else holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waits is None:
                raise Busy(
                    f"another sovctl is busy with {what}", where=str(path), hint="wait until it is done"
                ) from None
            waits(f"waiting for another sovctl that is busy with {what}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def ensure_materials(*, mirror_uri: str | None, progress: Progress) -> Materials:
    """Everything that is made once, made when the cache lacks it."""
    base = image.ensure_image(mirror_uri=mirror_uri, progress=progress)
    fetched = tools.ensure_fetched(base, mirror_uri=mirror_uri, progress=progress)
    standins = gpu_packages.ensure_packages()
    packages = [*sorted(fetched.packages.glob("*.deb")), *sorted(standins.glob("*.deb"))]
    packed = repository.ensure_repository(f"apt-{digest([fetched.packages.name, standins.name])[:16]}", packages)
    wheels = tuple(wheelhouse.ensure_wheels(lock, progress=progress) for lock in wheelhouse.locks())
    return Materials(base, fetched.tools, packed, wheels)


def up(lab: Lab, *, directory: Path, mirror_uri: str | None, progress: Progress) -> None:
    """Have a whole lab, by mending or by building; idempotent.

    Args:
        directory: gets keys, secrets and site.yaml.
        mirror_uri: a Debian mirror to make the image from; this machine's own when None.
        progress: told each step.

    Raises:
        Busy: another sovctl is at it.
        LabFailure: a step failed; the next `up` cleans what it left.
    """
    with exclusive(lab.lock_file, f"lab {lab.name}"):
        with exclusive(layout.cache_folder() / ".lock", "the lab cache", waits=progress):
            materials = ensure_materials(mirror_uri=mirror_uri, progress=progress)
        public_key = access.ensure_key(directory)
        access.ensure_secrets(directory)
        if not is_whole(lab):
            if lab.state.exists() or network.existing(lab):
                progress("cleaning what an earlier lab left")
                clean(lab)
            _build(lab, materials)
        _publish(lab, materials)
        access.allow_cloud_key(directory, lab.cloud / cloud.KEYS_FILE)
        for each in NODES:
            node.authorize(lab, each, public_key)
        _start(lab, progress)
        access.write_known_hosts(directory, {f"{each.name},{each.address}": node.host_key(lab, each) for each in NODES})
        access.write_repository_key(directory, repository.public_key())
        access.write_cloud_authority(directory, (lab.cloud / certificate.CA_FILE).read_text())
        if access.ensure_site(directory, namespace=lab.namespace) == "no preset":
            progress("no site.yaml written: this version has no lab preset")
        write_atomic(lab.record_file, json.dumps({"boot_id": _boot_id(), "format": _FORMAT}) + "\n")


def down(lab: Lab, *, purge: bool = False, progress: Progress) -> None:
    """Remove everything of a lab; nothing happens when there is none.

    Args:
        purge: the cache too. Other labs that are up keep what they have mounted.
        progress: told each step.
    """
    doctor.require_root()
    with exclusive(lab.lock_file, f"lab {lab.name}"):
        progress(f"taking lab {lab.name} down")
        clean(lab)
        if purge:
            progress(f"removing the cache {layout.cache_folder()}")
            with exclusive(layout.cache_folder() / ".lock", "the lab cache"):
                mounts.remove_tree(layout.cache_folder())
        lab.lock_file.unlink(missing_ok=True)


def is_whole(lab: Lab) -> bool:
    """True when the lab was built to its end since this machine started, and its parts that no `start` can mend
    (namespaces and mounts) are there."""
    try:
        written = json.loads(lab.record_file.read_text())
    except (OSError, ValueError):
        return False
    return (
        written == {"boot_id": _boot_id(), "format": _FORMAT}
        and network.existing(lab) == list(lab.namespaces)
        and all(mounts.is_mounted(lab.root(each)) for each in NODES)
    )


def require_up(lab: Lab) -> None:
    """Return when the lab is up and may be used by us.

    Raises:
        InputError: it is not up.
        MissingTool: we are not root.
    """
    doctor.require_root()
    if not is_whole(lab):
        raise InputError(f"expected a lab named {lab.name!r} that is up, found none", hint="sovctl lab up")


def clean(lab: Lab) -> None:
    """End the lab's processes and remove its namespaces, mounts, control groups and state."""
    lab.record_file.unlink(missing_ok=True)
    found = [each for each in map(process.recorded, lab.run.glob("*.json")) if each]
    for namespace in network.existing(lab):
        found += process.marked(lab.name, network.processes(namespace))
    process.end(found, grace_s=1.0)
    for each in NODES:
        cgroup.clear(lab.machine(each))
        node.forget(lab, each)
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
    for each in NODES:
        node.make_disk(lab, each)
        board_files.lay(lab, each)
        node.authorize(lab, each, public_key)


def _publish(lab: Lab, materials: Materials) -> None:
    """Lay what the controller serves; a running lab gets what is new."""
    lab.web.mkdir(parents=True, exist_ok=True)
    unfinished = lab.web / ".apt"
    unfinished.unlink(missing_ok=True)
    unfinished.symlink_to(materials.repository)
    unfinished.replace(lab.web / "apt")
    wheelhouse.publish(lab.web / "wheels", list(materials.wheels))
    model_store.publish(lab.web / "models" / "echo")


def _start(lab: Lab, progress: Progress) -> None:
    began = time.monotonic()
    started = _start_services(lab)
    for each in NODES:
        if not node.process(lab, each):
            node.boot(lab, each)
    for each in NODES:
        reach.wait_for(
            lab.namespace,
            each.address,
            22,
            what=f"node {each.name}",
            limit_s=_BOOT_LIMIT_S,
            greeting=b"SSH-2.0",
            log=node.console(lab, each),
        )
    for service in services.SERVICES:
        services.wait(lab, service)
    if "fabric" in started:  # a new simulator knows of no fault
        for each in NODES:
            fabric.follow(lab, each)
    progress(f"{len(NODES)} nodes answer after {time.monotonic() - began:.1f} s")


def _start_services(lab: Lab) -> set[str]:
    """Start what does not run.

    Returns:
        The names of what was started.
    """
    started = set()
    for service in services.SERVICES:
        if services.start(lab, service):
            started.add(service.name)
        if service.name == "fabric":
            services.wait(lab, service)  # the subnet manager gives up when there is no fabric yet
    return started


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
