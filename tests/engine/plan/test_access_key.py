"""The public key of `access.key_file` is known without its `.pub` file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sovctl.engine.plan.access_key import public_key_of


def generated(folder: Path, *options: str, passphrase: str = "") -> tuple[bytes, str]:
    """Return a private key of ssh-keygen, and its public key without the comment."""
    file = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-N", passphrase, "-C", "x", "-f", file, *options], check=True, timeout=60)
    return file.read_bytes(), " ".join(file.with_suffix(".pub").read_text().split()[:2])


@pytest.mark.parametrize(
    "options",
    [("-t", "ed25519"), ("-t", "ecdsa"), ("-t", "rsa", "-b", "2048"), ("-t", "rsa", "-b", "2048", "-m", "PEM")],
    ids=" ".join,
)
def test_the_public_key_equals_that_of_ssh_keygen(options: tuple[str, ...], tmp_path: Path) -> None:
    private, public = generated(tmp_path, *options)
    assert public_key_of(private) == public


def test_an_encrypted_key_has_no_known_public_key(tmp_path: Path) -> None:
    assert public_key_of(generated(tmp_path, "-t", "ed25519", passphrase="invented")[0]) == ""


@pytest.mark.parametrize("data", [b"", b"no key", b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"])
def test_another_file_has_no_public_key(data: bytes) -> None:
    assert public_key_of(data) == ""
