"""Key that signs the apt indexes of a site's mirror, made and used by gpg.

The private key is one file of the controller, `.sovctl/keys/apt.key`. gpg gets it in a folder of its own, which is
removed afterwards, because the socket of its agent needs a short path. The public key is `artifacts.apt_key_file` of
site.yaml: nodes trust it, and no key of an archive.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError, MissingTool, SovctlError

TIMEOUT_S = 60.0


class AptKey:
    """An Ed25519 key without expiry.

    Args:
        file: private key, mode 0600.
        site: name in the user id of the key.
    """

    def __init__(self, file: Path, site: str) -> None:
        self._file, self._user = file, f"apt indexes of site {site}"

    def ensure(self, public_file: Path) -> None:
        """Create the key if it and its public file are absent, and the public file from the key.

        Raises:
            InputError: the public file has no private key, or another one.
            MissingTool: gpg is absent.
        """
        if not self._file.exists():
            if public_file.exists():
                hint = "restore the key from a backup, or move the public file away for a new key"
                raise InputError(f"no private key for it: {self._file}", where=str(public_file), hint=hint)
            with _home() as gpg:
                gpg.run("--passphrase", "", "--quick-generate-key", self._user, "ed25519", "sign", "never")
                write_atomic(self._file, gpg.run("--armor", "--export-secret-keys"), mode=0o600)
        with self._imported() as gpg:
            public = gpg.run("--armor", "--export")
        if not public_file.exists():
            write_atomic(public_file, public)
        elif public_file.read_bytes() != public:
            hint = "set artifacts.apt_key_file to the public key of this site, or move the file away"
            raise InputError("not the public key of the mirror's apt key", where=str(public_file), hint=hint)

    def clearsign(self, text: bytes) -> bytes:
        """Return the text with its signature: an InRelease file."""
        with self._imported() as gpg:
            return gpg.run("--clearsign", "--digest-algo", "SHA512", stdin=text)

    @contextmanager
    def _imported(self) -> Iterator[_Gpg]:
        with _home() as gpg:
            gpg.run("--import", str(self._file))
            yield gpg


class _Gpg:
    def __init__(self, home: Path) -> None:
        self._home = home

    def run(self, *words: str, stdin: bytes = b"") -> bytes:
        """Return the output of gpg."""
        options = ["--batch", "--yes", "--quiet", "--no-tty", "--pinentry-mode", "loopback"]
        try:
            done = subprocess.run(
                ["gpg", "--homedir", str(self._home), *options, *words],
                input=stdin, capture_output=True, timeout=TIMEOUT_S, check=False,
            )  # fmt: skip
        except FileNotFoundError:
            raise MissingTool("command `gpg` not found", hint="apt-get install gnupg") from None
        except subprocess.TimeoutExpired:
            raise SovctlError(f"gpg did not end within {TIMEOUT_S:.0f} s", where=words[0]) from None
        if done.returncode != 0:
            reason = done.stderr.decode(errors="replace").strip().splitlines()
            raise SovctlError(f"gpg failed: {reason[-1] if reason else done.returncode}", where=words[0])
        return done.stdout

    def stop_agent(self) -> None:
        """End the agent that gpg started, because it would outlive this process."""
        if shutil.which("gpgconf"):
            subprocess.run(
                ["gpgconf", "--homedir", str(self._home), "--kill", "gpg-agent"],
                capture_output=True, timeout=TIMEOUT_S, check=False,
            )  # fmt: skip


@contextmanager
def _home() -> Iterator[_Gpg]:
    with tempfile.TemporaryDirectory(prefix="sovctl-gpg-") as folder:
        gpg = _Gpg(Path(folder))
        try:
            yield gpg
        finally:
            gpg.stop_agent()
