"""A site of three service nodes with a mirror on two of them, and a selected snapshot of invented files."""

from __future__ import annotations

from pathlib import Path

from sovctl.engine.mirror import snapshots
from sovctl.engine.site.site import Site
from sovctl.support.canonical_json import sha256_hex

TEXT = """\
version: 1
site: {{name: lab, jurisdiction: DE, placement: on-prem}}
access:
  user: ops
  key_file: access/id_ed25519
  known_hosts_file: access/known_hosts
  network_namespace: {namespace}
artifacts:
  apt_url: https://10.77.0.21:8444/current/apt/debian-12-amd64
  apt_key_file: access/site-apt-key.asc
  wheels_url: https://10.77.0.21:8444/current/wheels
  models_url: https://10.77.0.21:8444/current/models
mirror: {{nodes: [s1, s2], store: store}}
perimeter: {{management: [10.77.0.1/32]}}
clock: {{servers: [10.77.0.1]}}
node_groups:
  - name: service
    platform: service
    nodes:
      - {{name: n1, address: 10.77.0.11}}
      - {{name: s1, address: 10.77.0.21}}
      - {{name: s2, address: 10.77.0.22}}
software: {{lock: nvidia-580.126.20}}
"""


def write_site(folder: Path, *, namespace: str = "sovlab") -> Path:
    """Write site.yaml with the files that it names, if they are absent."""
    (folder / "access").mkdir(parents=True, exist_ok=True)
    for name in ("id_ed25519", "known_hosts", "site-apt-key.asc"):
        if not (folder / "access" / name).exists():
            (folder / "access" / name).write_text("invented\n")
    (folder / "site.yaml").write_text(TEXT.format(namespace=namespace))
    return folder / "site.yaml"


def add_snapshot(store: Path, name: str, files: dict[str, bytes]) -> snapshots.MirrorSnapshot:
    """Write a snapshot and select it."""
    folder = store / "mirror" / name
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    lines = "".join(f"{sha256_hex(data)}  {path}\n" for path, data in sorted(files.items()))
    (folder / snapshots.MANIFEST).write_text(lines)
    link = folder.with_name(snapshots.SELECTED)
    link.unlink(missing_ok=True)
    link.symlink_to(name)
    found = snapshots.selected(store)
    assert found is not None
    return found


def mirror_site(folder: Path) -> Site:
    """A site with a selected snapshot."""
    path = write_site(folder)
    add_snapshot(folder / "store", "lab-1", {"apt/debian-12-amd64/a.deb": b"a", "wheels/index.html": b"page"})
    return Site.open(path, touches_nodes=False)
