"""Runs solvers without settings of the builder: an empty environment, and a network namespace without routes.

The solvers are programs of the builder (apt, dnf, uv). Their environment is built here, so that no proxy, constraint
file or configuration of the builder has an effect.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from sovctl.support.errors import MissingTool, SovctlError

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_KEPT = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""Variables of the builder that are kept: its trusted roots for TLS. They can refuse a server, and select no file."""
NO_ROUTES = ("unshare", "--user", "--map-root-user", "--net", "--")
TIMEOUT_S = 600.0


@dataclass(frozen=True)
class Result:
    """Output of a program."""

    exit_code: int
    stdout: str
    stderr: str


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the whole environment of a solver."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {"PATH": PATH, "LC_ALL": "C.UTF-8", "HOME": "/nonexistent", **kept, **extra}


def run(
    argv: Sequence[str],
    *,
    extra: Mapping[str, str],
    hint: str,
    without_network: bool = False,
    cwd: str | None = None,
    stdin: str = "",
) -> Result:
    """Run a program to its end.

    Args:
        extra: variables of its environment.
        hint: package that contains the program.
        without_network: run it in a network namespace without routes; `can_isolate` must be true.

    Raises:
        MissingTool: the program is absent.
        SovctlError: it did not end within `TIMEOUT_S`.
    """
    words = [*NO_ROUTES, *argv] if without_network else list(argv)
    try:
        done = subprocess.run(
            words, env=environment(extra), cwd=cwd, input=stdin.encode(), capture_output=True,
            timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        raise MissingTool(f"command `{argv[0]}` not found", hint=hint) from None
    except subprocess.TimeoutExpired:
        raise SovctlError(
            f"`{argv[0]}` did not end within {TIMEOUT_S:.0f} s", hint="check the package sources"
        ) from None
    return Result(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


@cache
def can_isolate() -> bool:
    """Return whether this process can run a program in a network namespace without routes."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*NO_ROUTES, "true"], capture_output=True, check=False).returncode == 0
