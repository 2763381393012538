"""Host keys of ssh servers, and the keys that a node offers over the network.

An offered key is compared with a fingerprint from another source. It is never trusted for itself.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass

from sovctl.support.errors import InputError, MissingTool, NodeUnreachable

from ..spec.ssh_key import key_fingerprint

KINDS = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa")
"""Types of host keys; DSA is absent, because OpenSSH 10 removed it."""
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")  # ssh-keygen(1), -l: SHA-256 in base64 without padding
_SCANNED_TYPES = "ed25519,ecdsa,rsa"


@dataclass(frozen=True)
class HostKey:
    """Public key of an ssh server: type, and base64 of RFC 4253, 6.6."""

    kind: str
    base64: str

    @property
    def fingerprint(self) -> str:
        """`SHA256:` and 43 characters, as `ssh-keygen -l` prints it."""
        return key_fingerprint(self.line)

    @property
    def line(self) -> str:
        """Type and base64, as in a file of a public key."""
        return f"{self.kind} {self.base64}"


def parse_host_key(text: str, *, where: str) -> HostKey:
    """Parse `TYPE BASE64 [COMMENT]`.

    Raises:
        InputError: not the public key of an ssh server.
    """
    words = text.split()
    if len(words) >= 2 and words[0] in KINDS:
        key = HostKey(words[0], words[1])
        if _FINGERPRINT.fullmatch(key.fingerprint):
            return key
    raise InputError("not a public host key of OpenSSH", where=where, hint=f"types: {', '.join(KINDS)}")


def checked_fingerprint(text: str, *, where: str) -> str:
    """Return a fingerprint without surrounding white space.

    Raises:
        InputError: not a SHA-256 fingerprint.
    """
    if not _FINGERPRINT.fullmatch(text.strip()):
        hint = "on the node's console: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub"
        raise InputError("expected SHA256: and 43 characters", where=where, hint=hint)
    return text.strip()


def offered_keys(address: str, port: int, *, timeout_s: int) -> list[HostKey]:
    """Return the keys that the ssh server at an address offers, at most one for each type.

    Raises:
        NodeUnreachable: no ssh server answers.
        MissingTool: OpenSSH is absent.
    """
    argv = ["ssh-keyscan", "-T", str(timeout_s), "-p", str(port), "-t", _SCANNED_TYPES, address]
    try:
        # Each type is one connection; a server that accepts and stays silent must not hold the command.
        done = subprocess.run(argv, capture_output=True, text=True, timeout=4 * timeout_s + 10, check=False)
    except FileNotFoundError:
        raise MissingTool("command `ssh-keyscan` not found", hint="apt-get install openssh-client") from None
    except subprocess.TimeoutExpired:
        raise _silent(address, port) from None
    lines = [line.split(maxsplit=1)[1] for line in done.stdout.splitlines() if line and not line.startswith("#")]
    found = [parse_host_key(line, where=f"{address} port {port}") for line in lines]
    if not found:
        raise _silent(address, port)
    return found


def _silent(address: str, port: int) -> NodeUnreachable:
    hint = "check that the node is up and its address is right"
    return NodeUnreachable(f"no ssh server answers at {address} port {port}", hint=hint)
