"""Keys of bundles: Ed25519 in a file of mode 0600, or in a PKCS#11 token whose URI the file contains.

python-tuf signs through `KeySigner`. The id of a key is the SHA-256 of its 32 bytes, so that one key has one id.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from securesystemslib.signer import Signature, Signer, SSlibKey

from sovctl.compliance.signing import SigningKey, load, load_or_create, parse_vkey
from sovctl.compliance.verify_key import VerifyKey, checked_key_name
from sovctl.support.atomic_files import read_error_reason, write_atomic
from sovctl.support.errors import InputError

HOLDER = "x-sovctl-holder"
"""Field of a key in TUF metadata with the name of its holder."""


class KeySigner(Signer):  # type: ignore[misc]
    """Signs TUF metadata with a key of a file or token."""

    def __init__(self, key: SigningKey) -> None:
        self._key = key

    @property
    def public_key(self) -> Any:
        """The public key, an `SSlibKey`."""
        return tuf_key("", self._key.public)

    def sign(self, payload: bytes) -> Any:
        """Return the signature of `payload`."""
        return Signature(self._key.public.keyid, self._key.sign(payload).hex())

    @classmethod
    def from_priv_key_uri(cls, priv_key_uri: str, public_key: Any, secrets_handler: Any = None) -> KeySigner:  # noqa: ARG003 - of Signer
        """Load the key in the file `priv_key_uri`."""
        return cls(load(Path(priv_key_uri)))


def tuf_key(holder: str, key: VerifyKey) -> Any:
    """Return a public key in the form of python-tuf, an `SSlibKey`."""
    return SSlibKey(key.keyid, "ed25519", "ed25519", {"public": key.raw.hex()}, {HOLDER: holder})


def create(folder: Path, names: Iterable[str]) -> list[Path]:
    """Create `NAME.key` (mode 0600) and `NAME.vkey` for each name. Existing keys are kept.

    Returns:
        The private key files.
    """
    created = []
    for name in names:
        if checked_key_name(name) != Path(name).name or name.startswith("."):
            raise InputError(f"expected a name without `/`, got {name!r}", where="NAME")
        path = folder / f"{name}.key"
        public = load_or_create(path).public
        write_atomic(folder / f"{name}.vkey", public.vkey(name) + "\n")
        created.append(path)
    return created


def read_vkey(path: Path) -> tuple[str, VerifyKey]:
    """Read a public key file.

    Returns:
        Name of the holder, and the key.

    Raises:
        InputError: unreadable, or not a verifier key.
    """
    try:
        return parse_vkey(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the public key: {read_error_reason(error)}", where=str(path)) from None
    except InputError as error:
        raise InputError(error.message, where=str(path), hint=error.hint) from None
