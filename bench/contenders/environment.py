"""The peers' own environments: made once under build/bench, exact versions, what was installed is recorded.

    SHIELD.make()          # build/bench/venv-shield, unless it is there
    SHIELD.freeze()        # every package in it, for the result

What pip resolved goes to build/bench/venv-NAME/freeze.txt; peers are never installed where sovctl is.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path("build/bench")


@dataclass(frozen=True)
class Environment:
    """One peer's packages."""

    name: str
    packages: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return (FOLDER / f"venv-{self.name}").absolute()

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin/python"

    def make(self) -> None:
        """Install what is not installed yet; a set-up that was cut off is done again.

        Raises:
            RuntimeError: pip could not; with the end of what it said.
        """
        stamp = self.folder / ".ready"
        wanted = "\n".join(self.packages)
        if stamp.exists() and stamp.read_text() == wanted:
            return
        print(f"installing {', '.join(self.packages)} into {self.folder.name}", flush=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(self.folder)], check=True)
        pip = [str(self.python), "-m", "pip"]
        done = subprocess.run([*pip, "install", *self.packages], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"pip could not install {self.name}:\n{done.stderr[-2000:]}")
        frozen = subprocess.run([*pip, "freeze"], check=True, capture_output=True, text=True).stdout
        (self.folder / "freeze.txt").write_text(frozen)
        stamp.write_text(wanted)

    def freeze(self) -> list[str]:
        """Return every package with its version."""
        return (self.folder / "freeze.txt").read_text().split()


# Versions as measured in gateway_peers.md, 2026-11; not 1.82.7 and 1.82.8 (BerriAI/litellm#24512: stolen credentials).
LITELLM = Environment("litellm", ("litellm[proxy]==1.106.2",))
SHIELD = Environment("shield", ("llm-shield-proxy==1.7.0",))
PRESIDIO = Environment(
    "presidio",
    (
        "presidio-analyzer==2.2.366",
        "presidio-anonymizer==2.2.366",
        "uvicorn==0.35.0",
        "httptools==0.6.4",
        "uvloop==0.21.0",
    ),
)
