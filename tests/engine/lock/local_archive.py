"""A signed local archive of small Debian packages."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

RELEASE = """\
Origin: Test
Codename: test
Date: Sat, 28 Nov 2026 00:00:00 UTC
SHA256:
 {sha256} {size} Packages
"""


@dataclass
class Archive:
    """A flat archive with its own key.

    Args:
        folder: of the packages.
    """

    folder: Path
    key: Path = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        self._home = self.folder.parent / f"{self.folder.name}-gnupg"
        self._home.mkdir(mode=0o700)
        self.key = self.folder.parent / f"{self.folder.name}.asc"
        self._gpg("--passphrase", "", "--quick-generate-key", "archive <a@example.org>", "ed25519", "sign", "never")
        self.key.write_text(self._gpg("--armor", "--export"))

    def add(self, name: str, version: str = "1.0", *, depends: str = "", source: str = "", conflicts: str = "") -> Path:
        """Build a package."""
        tree = self.folder.parent / "tree" / f"{name}-{version.replace(':', '_')}"
        (tree / "DEBIAN").mkdir(parents=True)
        fields = {"Package": name, "Version": version, "Architecture": "amd64", "Maintainer": "t <t@example.org>",
                  "Source": source, "Depends": depends, "Conflicts": conflicts, "Description": name}  # fmt: skip
        text = "".join(f"{key}: {value}\n" for key, value in fields.items() if value)
        (tree / "DEBIAN/control").write_text(text)
        target = self.folder / f"{name}_{version.replace(':', '%3a')}_amd64.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, target], check=True, capture_output=True)
        return target

    def publish(self) -> None:
        """Write and sign the index."""
        command = ["dpkg-scanpackages", "--multiversion", "."]
        index = subprocess.run(command, cwd=self.folder, check=True, capture_output=True).stdout
        (self.folder / "Packages").write_bytes(index)
        text = RELEASE.format(sha256=hashlib.sha256(index).hexdigest(), size=len(index))
        (self.folder / "Release").write_text(text)
        self._gpg("--yes", "--clearsign", "--output", str(self.folder / "InRelease"), str(self.folder / "Release"))

    def sources(self) -> str:
        """Return the source in the one-line format."""
        return f"deb [signed-by={self.key}] copy:{self.folder} ./\n"

    def close(self) -> None:
        """End the agent that gpg started."""
        subprocess.run(["gpgconf", "--homedir", self._home, "--kill", "gpg-agent"], check=True)

    def _gpg(self, *words: str) -> str:
        command = ["gpg", "--homedir", str(self._home), "--batch", "--no-tty", "--quiet", "--pinentry-mode", "loopback"]
        return subprocess.run([*command, *words], check=True, capture_output=True, text=True).stdout
