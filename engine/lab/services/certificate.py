"""Certificate authority and server certificate of the lab's cloud host, created for each lab."""

from __future__ import annotations

import datetime
from ipaddress import IPv4Address
from pathlib import Path

from ...certificate_authority import Authority

CA_FILE = "ca.pem"
CERTIFICATE_FILE = "server.pem"
KEY_FILE = "server.key"
_CA_KEY_FILE = "ca.key"


def make(folder: Path, *, address: str, now: datetime.datetime) -> None:
    """Write CA_FILE, CERTIFICATE_FILE and KEY_FILE (mode 0600). The key of the authority is not kept.

    Args:
        address: IP address of the server, for the certificate.
        now: time-zone aware.
    """
    for name in (CA_FILE, CERTIFICATE_FILE, KEY_FILE, _CA_KEY_FILE):
        (folder / name).unlink(missing_ok=True)
    Authority(folder, "sovctl lab cloud (simulated)").issue("server", IPv4Address(address), now=now)
    (folder / _CA_KEY_FILE).unlink()
