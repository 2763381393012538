"""Measures the controller: description of the site, programs, clock, state folder and its keys."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sovctl.compliance.signing import load as load_key
from sovctl.support.errors import SovctlError, SpecError

from ..bundle.intake import history
from ..site.network_namespace import is_available
from ..site.own_address import check_management
from .item import Finding, done, missing
from .situation import Situation

PACKAGES = ("ansible-core", "pyinfra", "pytest-testinfra")
"""Distributions that observe, change and check nodes; pyproject.toml names their minimum versions."""
PROGRAMS = ("ssh", "ssh-keygen")
_TIMEOUT_S = 10


def measure_site_yaml(situation: Situation) -> Iterator[Finding]:
    """Check site.yaml as `sovctl validate` does."""
    path = situation.path
    if situation.error is None:
        yield done(str(path), "valid")
    elif isinstance(situation.error, SpecError):
        yield missing(str(path), situation.error.message, f"sovctl validate {path}")
    else:
        yield missing(situation.error.where or str(path), situation.error.message, f"sovctl init {path.parent}")


def measure_programs(_situation: Situation) -> Iterator[Finding]:
    """Look for the programs of the controller, and name their versions."""
    for name in PACKAGES:
        try:
            yield done(name, f"version {version(name)}")
        except PackageNotFoundError:
            yield missing(name, "not installed", "install sovctl again, from its wheel with all dependencies")
    for name in PROGRAMS:
        path = shutil.which(name)
        if path is None:
            yield missing(name, "command not found", "apt-get install openssh-client")
        else:
            yield done(name, _ssh_version() if name == "ssh" else path)
    playbook = Path(sys.executable).parent / "ansible-playbook"
    if not (playbook.is_file() or shutil.which(playbook.name)):
        yield missing(playbook.name, "command not found", "install sovctl again, from its wheel with all dependencies")


def _ssh_version() -> str:
    try:
        ran = subprocess.run(["ssh", "-V"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "version unknown"
    return ran.stderr.strip().split(",")[0] or "version unknown"  # ssh(1) prints it to standard error


def measure_clock(situation: Situation) -> Iterator[Finding]:
    """Compare the clock with the newest known time, as the import of bundles does."""
    from ..bundle.intake.admission import check_clock  # needs python-tuf, of the extra `bundle`

    try:
        check_clock(history.read(situation.state.ledger), now=situation.now)
    except SovctlError as error:
        yield missing(
            error.where or "clock", error.message, "set the clock: timedatectl set-time 'YYYY-MM-DD HH:MM:SS'"
        )
    else:
        yield done("clock", f"{situation.now:%Y-%m-%d %H:%M} UTC, not earlier than any known time")


def measure_network(situation: Situation) -> Iterator[Finding]:
    """Check the network namespace of site.yaml, and that the firewall of nodes will accept this controller."""
    spec = situation.opened.spec
    where = "access.network_namespace"
    if (name := spec.access.network_namespace) is not None:
        if not is_available(name):
            remedy = f"sovctl lab up --directory {situation.path.parent}"
            yield missing(
                situation.opened.loaded.where(where), f"no network namespace {name!r} on this machine", remedy
            )
        elif os.geteuid() != 0:
            yield missing(situation.opened.loaded.where(where), "root is required to enter it", "repeat it with sudo")
        else:
            yield done(where, f"network namespace {name!r} exists")
        return
    try:
        check_management(spec, (node for _, node in spec.nodes()))
    except SovctlError as error:
        yield missing(situation.opened.loaded.where("perimeter.management"), error.message, error.hint)
    else:
        yield done("perimeter.management", "contains this controller, or this controller has no route to the nodes")


def measure_state_folder(situation: Situation) -> Iterator[Finding]:
    """Check that the state folder is writable, and its private keys are readable by the owner only."""
    root = situation.state.root
    existing = next(each for each in (root, *root.absolute().parents) if each.exists())
    if not (existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)):
        yield missing(str(root), f"{existing} is not a writable folder", "use a writable folder: --state DIR")
        return
    wrong = list(_wrong_keys(situation))
    yield from wrong
    if not wrong:
        yield done(str(root), "writable; private keys have mode 600" if root.exists() else "created by the first plan")


def _wrong_keys(situation: Situation) -> Iterator[Finding]:
    keys = situation.state.keys
    for name in ("plan.key", "ledger.key"):
        if (keys / name).exists():
            try:
                load_key(keys / name)
            except SovctlError as error:
                yield missing(str(keys / name), error.message, error.hint or "restore it from the backup")
    for path in sorted({*keys.glob("*.key"), *situation.state.pki.glob("*.key")}):
        if path.name not in ("plan.key", "ledger.key") and (mode := path.stat().st_mode & 0o777) & 0o077:
            yield missing(str(path), f"private key is readable by others (mode {mode:03o})", f"chmod 600 {path}")


def measure_inputs(situation: Situation) -> Iterator[Finding]:
    """Compute the inputs of a plan: catalogue, locks of environments, credentials, available nodes."""
    try:
        context = situation.opened.context()
    except SovctlError as error:
        yield missing(error.where or str(situation.path), error.message, error.hint or f"sovctl plan {situation.path}")
    else:
        yield done("catalogue and credentials", f"usable; driver lock {context.lock.id}")
