"""A site on loopback that lacks nothing for a plan, and the findings of a diagnosis by item."""

from __future__ import annotations

import subprocess
from pathlib import Path

from example_sites import example

from sovctl.engine.doctor.diagnosis import Diagnosis
from sovctl.engine.doctor.item import Finding, State


def findings(found: Diagnosis, name: str) -> tuple[Finding, ...]:
    """The findings of an item."""
    return next(each.findings for each in found.items if each.item.name == name)


def states(found: Diagnosis, name: str) -> set[State]:
    """The states of the findings of an item."""
    return {each.state for each in findings(found, name)}


def loopback_site(folder: Path, *, port: int) -> Path:
    """The preset `closed-perimeter` on loopback, with invented secrets, a real ssh key, and host keys of all nodes."""
    opened = example("closed-perimeter", folder)
    site = folder / "site.yaml"
    text = site.read_text().replace("10.40.0.2/32", "127.0.0.1/32").replace("10.40.1.", "127.0.0.")
    text = text.replace("10.40.0.5", "127.0.0.5").replace("  user: ops\n", f"  user: ops\n  port: {port}\n")
    site.write_text(text)
    key = folder / opened.spec.access.key_file
    key.unlink()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "specimen", "-f", str(key)], check=True)
    kind, public = key.with_suffix(".pub").read_text().split()[:2]
    hosts = [str(node.address).replace("10.40.1.", "127.0.0.") for _, node in opened.spec.nodes()]
    known = folder / opened.spec.access.known_hosts_file
    known.write_text("".join(f"[{host}]:{port} {kind} {public}\n" for host in hosts))
    return site
