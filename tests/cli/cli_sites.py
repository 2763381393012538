"""Sites for command-line tests: whole ones, on loopback, with invented secrets and captures of bare machines.

Every node's address is on loopback and the ssh port is one that nobody listens on, unless a test puts something there.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sovctl.engine.facts import running
from sovctl.engine.plan import file
from sovctl.engine.site.site import Site
from sovctl.engine.validation.presets import write_preset

INVENTED_SECRET = "invented-specimen-key-000000000000"
"""Content of every secret file here; it must never be seen in what a command prints."""
NODES = ("hgx-1", "hgx-2", "hgx-3", "hgx-4", "gw-1", "gw-2")
ADDRESSES = tuple(f"127.0.0.{last}" for last in (11, 12, 13, 14, 31, 32))
"""Of `NODES`, in the same order. All of 127.0.0.0/8 is this machine."""


def make_site(folder: Path, *, ssh_port: int) -> Path:
    """The preset `closed-perimeter` on loopback, with every file that it names. Returns its site.yaml."""
    written = write_preset("closed-perimeter", folder, force=False)
    written.schema.unlink()
    text = written.site.read_text()
    text = text.replace("10.40.0.2/32", "127.0.0.1/32")
    text = text.replace("10.40.1.", "127.0.0.").replace("  user: ops\n", f"  user: ops\n  port: {ssh_port}\n")
    written.site.write_text(text)
    key = folder / "access" / "id_ed25519"
    key.parent.mkdir()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "specimen", "-f", str(key)], check=True)
    (folder / "access" / "known_hosts").write_text("# none yet\n")
    (folder / "access" / "apt-key.asc").write_text("specimen, not a key\n")
    (folder / "secrets").mkdir()
    for name in ("registry", "drafting"):
        secret = folder / "secrets" / name
        secret.touch(mode=0o600)
        secret.write_text(INVENTED_SECRET + "\n")
    return written.site


def bare_capture(node: str) -> dict[str, object]:
    """What a freshly installed machine answers: one package, none of our files, no unit of ours."""
    answers = {
        "kernel": "6.8.0-110-generic\n",
        "architecture": "x86_64\n",
        "virtualization": "none\n",
        "secure-boot": "SecureBoot disabled\n",
        "holds": "",
        "packages": "bash\t5.2.15-2\tamd64\tii \n",
        "units": "Id=chrony.service\nLoadState=not-found\nActiveState=inactive\nUnitFileState=\nMainPID=0\n",
        "sysctl": "",
        "attributes": "{}",
        "environment-folders": "",
        "environment-trees": "{}",
        "model-trees": "{}",
        "unmanaged": "[]",
        "unmanaged-accounts": "[]",
        "unmanaged-programs": "[]",
        "unmanaged-running": "[]",
        "pool_processes": "",
        "gpu_modes": "",
        "hardware": '{"governors": [], "gpus": 8, "acs": [], "relaxed_ordering": [], "bridge_power": []}',
        "service_accounts": "",
        "sshd": "## root 127.0.0.1\npubkeyauthentication yes\n",
        "sshd_unit": "Id=ssh.service\nLoadState=loaded\nActiveState=active\nStateChangeTimestamp=@1763700000\n",
        "system": "running\n",
        "firmware": "[]\n",
        "started": "UserspaceTimestamp=@1763700000\n",
    }
    return {
        "node": node,
        "captured": "2026-11-21T10:00:00Z",
        "commands": {name: {"exit_code": 0, "stdout": text, "stderr": ""} for name, text in answers.items()},
        "files": {},
        "texts": {
            "/etc/os-release": 'PRETTY_NAME="Ubuntu 24.04.3 LTS"\nID=ubuntu\nVERSION_ID="24.04"\n',
            **dict.fromkeys(running.READ),
            running.BOOT_ID: "663a30d8-26c3-4f15-a35f-cc95c37922be\n",
        },
    }


def write_captures(folder: Path) -> None:
    """Captures of all `NODES`, bare."""
    folder.mkdir()
    for node in NODES:
        (folder / f"{node}.json").write_text(json.dumps(bare_capture(node)))


def save_plan(site_file: Path, *, is_empty: bool = False) -> None:
    """A signed plan from bare captures, saved where `sovctl apply` looks, through the modules that `plan` uses."""
    opened = Site.open(site_file, touches_nodes=False)
    captures = site_file.parent / "captures"
    write_captures(captures)
    made = opened.plan(opened.context(), opened.recorded(captures))
    if is_empty:
        made = replace(made, changes=(), waves=())
    file.write(made, opened.state.plan_file, opened.plan_key())


@contextmanager
def closed_port() -> Iterator[int]:
    """A port that refuses every connection: bound, so that nobody else takes it, and not listened on."""
    with socket.socket() as holder:
        holder.bind(("", 0))
        yield holder.getsockname()[1]


_HOLDER = """
import sys
from pathlib import Path
from sovctl.engine.site.state_folder import SiteState
with SiteState(Path(sys.argv[1])).exclusive("apply"):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def lock_held(state: Path) -> Iterator[int]:
    """The site's lock in the hands of another process, as `sovctl apply` holds it. Yields its process id."""
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(state)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield holder.pid
        assert holder.stdin is not None
        holder.stdin.close()
