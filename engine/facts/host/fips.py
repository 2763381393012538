"""FIPS mode of a node: that of its kernel, and the FIPS provider of OpenSSL 3. Pure.

parse_fips_kernel("1")                    # True
parse_fips_providers("Providers:\n  fips\n    name: ...\n    status: active\n")      # True
"""

from __future__ import annotations

import re

from ..unreadable import Unreadable

KERNEL_FILE = "/proc/sys/crypto/fips_enabled"
"""1 in FIPS mode (Linux, crypto/fips.c). A kernel without CONFIG_CRYPTO_FIPS has no such file."""
ABSENT = "absent"
"""Text of the probe for a kernel without the file."""
PROVIDERS = ("openssl", "list", "-providers")
_PROVIDER = re.compile(r"^  (\S+)\n((?: {4}.*\n?)*)", re.MULTILINE)


def parse_fips_kernel(text: str) -> bool:
    """Return whether the kernel is in FIPS mode.

    Raises:
        Unreadable: neither 0, 1 nor `absent`.
    """
    value = text.strip()
    if value not in ("0", "1", ABSENT):
        raise Unreadable("0, 1 or absent", value, where=KERNEL_FILE)
    return value == "1"


def parse_fips_providers(text: str) -> bool:
    """Return whether the FIPS provider of OpenSSL is active, from `openssl list -providers`.

    Raises:
        Unreadable: no list of providers, such as without OpenSSL 3.
    """
    head, _, providers = text.partition("\n")
    found: dict[str, str] = dict(_PROVIDER.findall(providers))
    if head.strip() != "Providers:" or not found:
        raise Unreadable("a list of providers of OpenSSL 3", text, where="openssl list -providers")
    return any(name == "fips" and "status: active" in fields for name, fields in found.items())
