"""Programs from Debian's packages, unpacked under build/bench: nothing is installed, and no service is started.

make("nginx", "wrk")
program("nginx")     # the one on PATH, else build/bench/debian/usr/sbin/nginx
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

_FOLDER = Path("build/bench/debian").absolute()
_PACKAGES = {  # Debian 12: the binary of nginx is in the package of that name
    "nginx": ("nginx",),
    "wrk": ("wrk", "libluajit-5.1-2"),
    "valgrind": ("valgrind",),
}
_PLACES = (_FOLDER / "usr/sbin", _FOLDER / "usr/bin")


def make(*programs: str) -> None:
    """Fetch and unpack those that PATH does not have.

    Raises:
        RuntimeError: apt could not; with the end of what it said.
    """
    packages = [package for name in programs if not _found(name) for package in _PACKAGES[name]]
    if not packages:
        return
    _FOLDER.mkdir(parents=True, exist_ok=True)
    download = ["apt-get", "download", "-qq", *packages]
    done = subprocess.run(download, cwd=_FOLDER, capture_output=True, text=True, check=False)
    if done.returncode:  # package lists may be missing
        update = ["apt-get", "update", "-qq"]
        subprocess.run(update if os.geteuid() == 0 else ["sudo", *update], capture_output=True, check=False)
        done = subprocess.run(download, cwd=_FOLDER, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"apt could not fetch {', '.join(packages)}:\n{done.stderr[-2000:]}")
    for package in _FOLDER.glob("*.deb"):
        subprocess.run(["dpkg", "-x", str(package), str(_FOLDER)], check=True)


def program(name: str) -> str:
    """Return the path of a program.

    Raises:
        RuntimeError: not found.
    """
    if (found := _found(name)) is None:
        raise RuntimeError(f"{name} not found on PATH or in {_FOLDER}")
    return found


def libraries() -> dict[str, str]:
    """Return the environment with the library path of an unpacked program."""
    places = [str(each) for each in sorted(_FOLDER.glob("usr/lib/*-linux-gnu"))]
    tools = _FOLDER / "usr/libexec/valgrind"
    return ({"LD_LIBRARY_PATH": ":".join(places)} if places else {}) | (
        {"VALGRIND_LIB": str(tools)} if tools.exists() else {}
    )


def _found(name: str) -> str | None:
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", *map(str, _PLACES)])
    return shutil.which(name, path=path)
