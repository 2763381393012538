"""A node that is a virtual machine: layers over the cached drives, firmware variables, TPM, and the QEMU process.

The functions have the names and arguments of `node/node.py`.
"""

from __future__ import annotations

import io
import tarfile
import time
from pathlib import Path

from sovctl.support.atomic_files import write_atomic

from .. import layout
from ..layout import Lab, LabNode
from ..linux import network
from ..linux.process import LabFailure, ProcessId, end, is_alive, record, recorded, run, spawn
from ..node import shell
from . import qemu
from .drives import DRIVES
from .qemu import Files

_USER_ID = 1000
"""Of the account `layout.USER`, the first account of the image (useradd(8))."""
_STOP_GRACE_S = 5.0


def files(lab: Lab, node: LabNode) -> Files:
    """Return the files of a node."""
    return Files(lab.node_folder(node))


def make_disk(lab: Lab, node: LabNode, drives: Path) -> None:
    """Create the layers of the drives, the state of firmware and TPM, and the files for the first boot.

    Args:
        drives: folder of the cached drives.
    """
    own = files(lab, node)
    own.tpm_state.mkdir(mode=0o700, parents=True)
    for name in DRIVES:
        options: list[str | Path] = ["-q", "-f", "qcow2", "-F", "raw", "-b", drives / name]
        run(["qemu-img", "create", *options, own.drive(name)], purpose="create a layer over a drive")
    set_secure_boot(lab, node, is_enabled=True)
    key = own.folder / "ssh_host_ed25519_key"
    run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"root@{node.name}", "-f", key],
        purpose="create a node's host key",
    )


def authorize(lab: Lab, node: LabNode, public_key: str) -> None:
    """Add a public key to the authorized keys of the operator: to the files of the first boot, and over ssh."""
    line, kept = public_key.strip(), files(lab, node).folder / "authorized_keys"
    lines = kept.read_text().splitlines() if kept.exists() else []
    if line not in lines:
        write_atomic(kept, "\n".join([*lines, line, ""]))
    if process(lab, node) is None:
        _write_seed(lab, node)
        return
    home = f"/home/{layout.USER}/.ssh/authorized_keys"
    command = f"grep -qxF '{line}' {home} || echo '{line}' >>{home}"
    run(shell.ssh_command(lab, node, [command]), purpose=f"authorize a key on {node.name}", timeout_s=120)


def _write_seed(lab: Lab, node: LabNode) -> None:
    """Write the archive with the files of this lab, which the node extracts at its first boot."""
    own = files(lab, node)
    home, host = f"home/{layout.USER}/.ssh", "etc/ssh/ssh_host_ed25519_key"
    private, public = own.folder / "ssh_host_ed25519_key", lab.host_key_file(node)
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        _add(archive, home, None, mode=0o700, owner=_USER_ID)
        _add(
            archive,
            f"{home}/authorized_keys",
            (own.folder / "authorized_keys").read_bytes(),
            mode=0o600,
            owner=_USER_ID,
        )
        _add(archive, f"{host}.pub", public.read_bytes(), mode=0o644)
        _add(archive, host, private.read_bytes(), mode=0o600)  # last, because it marks a complete extraction
    write_atomic(own.seed, data.getvalue(), mode=0o600)


def _add(archive: tarfile.TarFile, path: str, content: bytes | None, *, mode: int, owner: int = 0) -> None:
    entry = tarfile.TarInfo(path)
    entry.mode, entry.uid, entry.gid = mode, owner, owner
    entry.type, entry.size = (tarfile.DIRTYPE, 0) if content is None else (tarfile.REGTYPE, len(content))
    archive.addfile(entry, io.BytesIO(content or b""))


def set_secure_boot(lab: Lab, node: LabNode, *, is_enabled: bool) -> None:
    """Replace the variables of the firmware of a node that is off: with the keys of Microsoft, or without keys.

    Raises:
        LabFailure: the node runs.
    """
    if process(lab, node):
        raise LabFailure(f"node {node.name} runs, and its firmware cannot be changed", hint="stop it first")
    write_atomic(files(lab, node).variables, qemu.VARIABLES[is_enabled].read_bytes(), mode=0o600)


def boot(lab: Lab, node: LabNode) -> None:
    """Start the TPM and the virtual machine, and write their records. Returns before the node answers."""
    own = files(lab, node)
    stop(lab, node)
    inside = network.inside(lab.namespace)
    own.tpm_socket.unlink(missing_ok=True)
    tpm = spawn([*inside, *map(str, qemu.tpm_command(own))], log=lab.log / f"{node.name}-tpm.log", lab=lab.name)
    record(_record(lab, node, "tpm"), tpm)
    _wait_for_socket(own.tpm_socket, tpm)
    output = console(lab, node)
    if output.exists():
        output.replace(output.with_name(f"{output.name}.old"))
    command = qemu.command(own, name=node.name, drives=DRIVES, tap=network.tap(node), console=output)
    log = lab.log / f"{node.name}-qemu.log"
    record(_record(lab, node), spawn([*inside, *map(str, command)], log=log, lab=lab.name))


def _wait_for_socket(path: Path, owner: ProcessId) -> None:
    until = time.monotonic() + 10
    while not path.exists():
        if not is_alive(owner) or time.monotonic() > until:
            raise LabFailure(f"the TPM emulator did not create {path.name}")
        time.sleep(0.05)


def stop(lab: Lab, node: LabNode) -> None:
    """End the virtual machine, as by the loss of power, and its TPM."""
    for suffix in ("", "tpm"):
        found = recorded(_record(lab, node, suffix))
        if found and is_alive(found):
            end([found], grace_s=_STOP_GRACE_S)
    forget(lab, node)


def process(lab: Lab, node: LabNode) -> ProcessId | None:
    """Return the process of a running node; None if it is off."""
    found = recorded(_record(lab, node))
    return found if found and is_alive(found) else None


def console(lab: Lab, node: LabNode) -> Path:
    """Return the file with the console output of a node."""
    return lab.log / f"{node.name}.console"


def forget(lab: Lab, node: LabNode) -> None:
    """Remove the records of the processes."""
    for suffix in ("", "tpm"):
        _record(lab, node, suffix).unlink(missing_ok=True)


def has_disk(lab: Lab, node: LabNode) -> bool:
    """Return whether the files of the node exist."""
    own = files(lab, node)
    return all(each.exists() for each in (*map(own.drive, DRIVES), own.variables, own.seed))


def _record(lab: Lab, node: LabNode, suffix: str = "") -> Path:
    return lab.run / f"node-{node.name}{'-' + suffix if suffix else ''}.json"
