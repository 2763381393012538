"""A ledger's key in a PKCS#11 token: SoftHSM signs, OpenSSL and the pure verifier verify, and refusals name no PIN."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sovctl.compliance.ledger.rotate import rotate
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.ledger.verify import verify_ledger
from sovctl.compliance.pkcs11_signer import parse_uri
from sovctl.compliance.signing import load, load_or_create
from sovctl.compliance.verify_key import VerifyKey
from sovctl.support.errors import InputError

TOKEN, PIN = "audit", "97531864"
MODULES = ("/usr/lib/softhsm/libsofthsm2.so", "/usr/lib64/softhsm/libsofthsm2.so")
ORIGIN = "sovctl.site/test"

# In processes of their own, because a process reads SOFTHSM2_CONF once.
_MAKE = """
import sys, pkcs11
from pkcs11 import Attribute, KeyType, Mechanism
from pkcs11.util.ec import encode_named_curve_parameters
module, token, pin, label = sys.argv[1:]
with pkcs11.lib(module).get_token(token_label=token).open(user_pin=pin, rw=True) as session:
    curve = {Attribute.EC_PARAMS: encode_named_curve_parameters("1.3.101.112")}
    parameters = session.create_domain_parameters(KeyType.EC_EDWARDS, curve, local=True)
    parameters.generate_keypair(mechanism=Mechanism.EC_EDWARDS_KEY_PAIR_GEN, store=True, label=label)
"""
_LOG = """
import sys
from pathlib import Path
from sovctl.compliance.ledger.rotate import rotate
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import load
log, key_file, step = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
if step == "rotate":
    rotate(log, key_file, reason="planned", operator="ops")
with Ledger.open(log, origin="sovctl.site/test", key=load(key_file)) as ledger:
    ledger.append([{"type": "event"}])
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("token")
    (folder / "tokens").mkdir()
    config = folder / "softhsm2.conf"
    config.write_text(f"directories.tokendir = {folder}/tokens\nobjectstore.backend = file\nlog.level = ERROR\n")
    environ = {"SOFTHSM2_CONF": str(config), "PATH": "/usr/bin:/bin"}
    init = ["softhsm2-util", "--init-token", "--free", "--label", TOKEN, "--pin", PIN, "--so-pin", PIN]
    subprocess.run(init, check=True, capture_output=True, env=environ)
    for label in ("ledger", "next"):
        words = [sys.executable, "-c", _MAKE, module(), TOKEN, PIN, label]
        subprocess.run(words, check=True, capture_output=True, env=environ)
    return environ


def module() -> str:
    found = [path for path in MODULES if Path(path).exists()]
    assert found, "expected SoftHSM2, got none: make test-packages"
    return found[0]


def uri(folder: Path, label: str, pin: str = PIN) -> Path:
    (folder / "pin").write_text(pin + "\n")
    (folder / "pin").chmod(0o600)
    path = folder / f"{label}.key"
    path.write_text(f"pkcs11:token={TOKEN};object={label}?module-path={module()}&pin-source=file:{folder}/pin\n")
    path.chmod(0o600)
    return path


def used(environ: dict[str, str], log: Path, key_file: Path, step: str = "") -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", _LOG, log, key_file, step]
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, env=environ, check=False)


def test_a_token_signs_a_ledger_that_the_pure_verifier_accepts(environment: dict[str, str], tmp_path: Path) -> None:
    done = used(environment, tmp_path / "log", uri(tmp_path, "ledger"))
    assert done.returncode == 0, done.stderr
    found = verify_ledger(tmp_path / "log")
    assert (found.findings, found.entries) == ((), 1)


def test_a_key_in_a_file_is_rotated_into_a_token(environment: dict[str, str], tmp_path: Path) -> None:
    old = load_or_create(tmp_path / "ledger.key")
    Ledger.open(tmp_path / "log", origin=ORIGIN, key=old).close()
    uri(tmp_path, "next").rename(tmp_path / "ledger.key.new")
    done = used(environment, tmp_path / "log", tmp_path / "ledger.key", "rotate")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "ledger.key").read_text().startswith("pkcs11:")
    found = verify_ledger(tmp_path / "log", key=(ORIGIN, VerifyKey(old.public.raw)))
    assert (found.findings, len(found.keys)) == ((), 2)


@pytest.mark.parametrize(("label", "pin"), [("absent", PIN), ("ledger", "11111111")])
def test_an_unusable_key_is_refused_without_the_pin(
    environment: dict[str, str], tmp_path: Path, label: str, pin: str
) -> None:
    done = used(environment, tmp_path / "log", uri(tmp_path, label, pin))
    assert done.returncode != 0
    assert f"key {label} of token {TOKEN} cannot be used" in done.stderr
    assert pin not in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "pkcs11:",
        "pkcs11:token=a;object=b?module-path=/c",
        "pkcs11:token=a;token=b;object=b?module-path=/c&pin-source=file:/d",
        "pkcs11:token=a;object=b?module-path=/c&pin-value=1234",
    ],
)
def test_an_incomplete_uri_is_refused_without_its_values(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_uri(text, where="ledger.key")
    assert "1234" not in str(refused.value)
    (tmp_path / "ledger.key").write_text(text)
    (tmp_path / "ledger.key").chmod(0o600)
    with pytest.raises(InputError):
        load(tmp_path / "ledger.key")
    with pytest.raises(InputError):
        rotate(tmp_path, tmp_path / "ledger.key", reason="planned", operator="ops")
