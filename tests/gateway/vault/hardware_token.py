"""A PKCS#11 token for tests: SoftHSM2, with keys that never leave it.

A process reads SOFTHSM2_CONF once, so there is one token for all tests of a session. Its keys are made by another
process: this one shall find them as a gateway would.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

LABEL, PIN = "sovctl-test", "24681357"
_MODULES = ("/usr/lib/softhsm/libsofthsm2.so", "/usr/lib64/softhsm/libsofthsm2.so")
_MAKE_KEY = """
import sys, pkcs11
from pkcs11 import Attribute, KeyType
module, token, pin, label = sys.argv[1:]
A = Attribute
rights = dict.fromkeys((A.ENCRYPT, A.DECRYPT, A.WRAP, A.UNWRAP, A.SENSITIVE), True)
with pkcs11.lib(module).get_token(token_label=token).open(user_pin=pin, rw=True) as session:
    session.generate_key(KeyType.AES, 256, label=label, store=True, template={**rights, Attribute.EXTRACTABLE: False})
"""


class HardwareToken:
    """One token in a folder, made when this is.

    Raises:
        LookupError: SoftHSM2 is not on this machine. The tests do not go on without.
    """

    def __init__(self, folder: Path) -> None:
        found = [Path(path) for path in _MODULES if Path(path).exists()]
        if not found:
            raise LookupError("expected SoftHSM2, got none: make test-packages")
        self.module = found[0]
        self.pin_file = folder / "pin"
        self.pin_file.write_text(f"{PIN}\nanother line, which nobody reads\n")
        self.pin_file.chmod(0o600)
        (folder / "tokens").mkdir()
        config = folder / "softhsm2.conf"
        config.write_text(f"directories.tokendir = {folder}/tokens\nobjectstore.backend = file\nlog.level = ERROR\n")
        os.environ["SOFTHSM2_CONF"] = str(config)
        self._run("softhsm2-util", "--init-token", "--free", "--label", LABEL, "--pin", PIN, "--so-pin", PIN)

    def make_key(self, label: str) -> None:
        """An AES key of 256 bits that may encrypt, wrap and undo both, and not be read."""
        self._run(sys.executable, "-c", _MAKE_KEY, str(self.module), LABEL, PIN, label)

    def settings(self, label: str, **changes: Any) -> dict[str, Any]:
        """What stands below `kek[].pkcs11` for the key of that label."""
        return {
            "module": str(self.module),
            "token_label": LABEL,
            "key_label": label,
            "pin_file": str(self.pin_file),
            **changes,
        }

    def _run(self, *command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
