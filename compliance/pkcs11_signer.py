"""Ed25519 keys in a PKCS#11 token (HSM, TPM, smart card), named by a URI of RFC 7512.

    pkcs11:token=audit;object=ledger?module-path=/usr/lib/softhsm/libsofthsm2.so&pin-source=file:/etc/sovctl/secrets/pin

The private key never leaves the token. The PIN is read from the file for each use; it is not stored, logged or printed.
Needs the package python-pkcs11 (extra `gateway` or `hsm`), and a token with CKM_EDDSA (PKCS#11 3.0).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from sovctl.support.errors import InputError, MissingTool
from sovctl.support.secret_files import read_secret

PREFIX = "pkcs11:"
_POINT_PREFIX = b"\x04\x20"  # DER OCTET STRING of 32 bytes (PKCS#11 3.0, 2.3.5: CKA_EC_POINT)
_LOCK = threading.Lock()  # a login is valid for all threads of a process
_INITIALIZED_BY: dict[
    str, int
] = {}  # module -> process; a child initializes it again after a fork (PKCS#11 2.40, 6.6.1)

Result = TypeVar("Result")


@dataclass(frozen=True)
class TokenKey:
    """A private key in a token."""

    token: str
    label: str
    module: str
    pin_file: Path

    def public_raw(self) -> bytes:
        """Return the public key, 32 bytes.

        Raises:
            InputError: the token has no such Ed25519 key.
        """
        point = self.use(_point_of)
        if len(point) == 34 and point[:2] == _POINT_PREFIX:
            point = point[2:]  # some tokens return the 32 bytes without the DER prefix
        if len(point) != 32:
            raise InputError(f"expected an Ed25519 key {self.label}, got another key", where=f"token {self.token}")
        return point

    def sign(self, message: bytes) -> bytes:
        """Return the Ed25519 signature of `message`, 64 bytes.

        Raises:
            InputError: the token cannot sign.
        """
        return self.use(lambda session, label: _signed(session, label, message))

    def use(self, use: Callable[[Any, str], Result]) -> Result:
        """Return the result of a function of an open session and the label of the key.

        Raises:
            InputError: the token or its key cannot be used.
            MissingTool: python-pkcs11 is absent.
        """
        try:
            import pkcs11
        except ImportError:
            raise MissingTool(
                "expected the package python-pkcs11, got none", hint="install sovctl with the extra hsm: sovctl[hsm]"
            ) from None
        pin = read_secret(self.pin_file).splitlines()[0].strip()
        try:
            with _LOCK:
                module = pkcs11.lib(self.module)
                if _INITIALIZED_BY.setdefault(self.module, os.getpid()) != os.getpid():
                    module.reinitialize()
                    _INITIALIZED_BY[self.module] = os.getpid()
                with module.get_token(token_label=self.token).open(user_pin=pin) as session:
                    return use(session, self.label)
        except pkcs11.PKCS11Error as error:
            raise InputError(
                f"key {self.label} of token {self.token} cannot be used: {type(error).__name__}",
                where=self.module,
                hint="check that the token is inserted, the PIN is correct, and the key has the right type",
            ) from None


def parse_uri(text: str, *, where: str) -> TokenKey:
    """Parse the URI of a key. Attributes other than those of the example are refused.

    Raises:
        InputError: a missing, repeated or unknown attribute.
    """
    path, _, query = text.strip().removeprefix(PREFIX).partition("?")
    found: dict[str, str] = {}
    for part in [*path.split(";"), *(query.split("&") if query else [])]:
        name, separator, value = part.partition("=")
        if not separator or name in found or name not in ("token", "object", "module-path", "pin-source"):
            raise InputError(f"expected an attribute of a PKCS#11 URI once, got {name[:40]!r}", where=where)
        found[name] = unquote(value)
    missing = [name for name in ("token", "object", "module-path", "pin-source") if not found.get(name)]
    if missing:
        raise InputError(f"expected {', '.join(missing)} in the PKCS#11 URI, got none", where=where)
    pin_file = Path(found["pin-source"].removeprefix("file:"))
    return TokenKey(found["token"], found["object"], found["module-path"], pin_file)


def _point_of(session: Any, label: str) -> bytes:
    from pkcs11 import Attribute, ObjectClass

    return bytes(session.get_key(ObjectClass.PUBLIC_KEY, label=label)[Attribute.EC_POINT])


def _signed(session: Any, label: str, message: bytes) -> bytes:
    from pkcs11 import Mechanism, ObjectClass

    return bytes(session.get_key(ObjectClass.PRIVATE_KEY, label=label).sign(message, mechanism=Mechanism.EDDSA))
