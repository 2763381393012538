"""KEKs from a file, the environment and a real PKCS#11 token (SoftHSM2)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hardware_token import LABEL, PIN, HardwareToken
from vault_homes import ONE, TOKEN, VALUE, SqliteHome, with_vault

from sovctl.gateway.settings import VaultSettings
from sovctl.gateway.vault import VaultFailed, load_keks
from sovctl.gateway.vault.encryption.keks import Kek, LocalKek
from sovctl.gateway.vault.encryption.pkcs11_kek import Pkcs11Kek
from sovctl.support.errors import InputError

MECHANISMS = ["aes-gcm", "aes-key-wrap"]
KEY = bytes(range(100, 132))


def settings(*keks: dict[str, Any]) -> VaultSettings:
    return VaultSettings.model_validate({"path": "/nowhere", "kek": list(keks)})


def one(**kek: Any) -> Kek:
    (loaded,) = load_keks(settings(kek))
    return loaded


def test_a_file_is_the_same_kek_in_both_wordings(tmp_path: Path) -> None:
    path = tmp_path / "kek"
    path.write_text("ab" * 32)
    path.chmod(0o600)
    short = VaultSettings.model_validate({"path": "/nowhere", "kek_file": str(path)})
    assert [kek.id for kek in load_keks(short)] == [one(file=str(path)).id] == [LocalKek(b"\xab" * 32).id]


def test_a_variable_is_gone_once_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULT_KEK_OF_A_TEST", "cd" * 32)
    kek = one(env="VAULT_KEK_OF_A_TEST")
    assert "VAULT_KEK_OF_A_TEST" not in os.environ
    child = subprocess.run(["env"], capture_output=True, text=True, check=True)
    assert "VAULT_KEK_OF_A_TEST" not in child.stdout
    assert one(env="VAULT_KEK_OF_A_TEST") is kek  # whoever reads the settings again has it
    assert kek.unwrap(LocalKek(b"\xcd" * 32).wrap(KEY, b"wrap"), b"wrap") == KEY


@pytest.mark.parametrize("text", [None, "", "abc", "xy" * 32, "ab" * 31, "ab" * 33])
def test_a_variable_without_a_key_is_refused_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    if text is not None:
        monkeypatch.setenv("VAULT_KEK_THAT_IS_NONE", text)
    with pytest.raises(InputError, match="environment: VAULT_KEK_THAT_IS_NONE") as caught:
        one(env="VAULT_KEK_THAT_IS_NONE")
    assert not text or text not in str(caught.value)


def test_one_kek_twice_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text("ab" * 32)
        (tmp_path / name).chmod(0o600)
    with pytest.raises(InputError, match="a KEK is listed twice"):
        load_keks(settings({"file": str(tmp_path / "one")}, {"file": str(tmp_path / "two")}))


@pytest.mark.parametrize("kek", [{}, {"env": "A", "file": "b"}, {"env": "not a name"}, {"env": "A", "pkcs11": {}}])
def test_settings_name_exactly_one_place(kek: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        settings(kek)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_token_wraps_and_unwraps(hardware_token: HardwareToken, mechanism: str) -> None:
    kek = one(pkcs11=hardware_token.settings("kek", mechanism=mechanism))
    wrapped = kek.wrap(KEY, b"wrap")
    assert KEY not in wrapped
    assert kek.unwrap(wrapped, b"wrap") == KEY
    assert one(pkcs11=hardware_token.settings("kek", mechanism=mechanism)).unwrap(wrapped, b"wrap") == KEY


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_token_refuses_what_it_did_not_wrap(hardware_token: HardwareToken, mechanism: str) -> None:
    kek = one(pkcs11=hardware_token.settings("kek", mechanism=mechanism))
    other = one(pkcs11=hardware_token.settings("another", mechanism=mechanism))
    wrapped = kek.wrap(KEY, b"wrap")
    altered = wrapped[:-1] + bytes([wrapped[-1] ^ 1])
    for by, data in ((kek, altered), (kek, b""), (other, wrapped)):
        with pytest.raises(VaultFailed, match="cannot wrap or unwrap"):
            by.unwrap(data, b"wrap")


def test_with_gcm_a_key_is_bound_to_its_purpose(hardware_token: HardwareToken) -> None:
    kek = one(pkcs11=hardware_token.settings("kek"))
    with pytest.raises(VaultFailed):
        kek.unwrap(kek.wrap(KEY, b"wrap"), b"index")


def test_each_key_and_mechanism_of_a_token_is_a_kek_of_its_own(hardware_token: HardwareToken) -> None:
    keks = [{"pkcs11": hardware_token.settings(label, mechanism=m)} for label in ("kek", "another") for m in MECHANISMS]
    assert len({kek.id for kek in load_keks(settings(*keks))}) == 4


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"token_label": "nobody"}, "NoSuchToken"),
        ({"key_label": "nothing"}, "NoSuchKey"),
        ({"module": "/nowhere/lib.so"}, "the PKCS#11 library cannot be loaded"),
    ],
)
def test_what_a_token_lacks_is_said(hardware_token: HardwareToken, changes: dict[str, str], said: str) -> None:
    kek = one(pkcs11=hardware_token.settings("kek", **changes))
    with pytest.raises(VaultFailed, match=said) as caught:
        kek.wrap(KEY, b"wrap")
    assert PIN not in str(caught.value) + caught.value.hint


def test_a_wrong_pin_is_said_and_not_repeated(hardware_token: HardwareToken, tmp_path: Path) -> None:
    pin_file = tmp_path / "pin"
    pin_file.write_text("99999999")
    pin_file.chmod(0o600)
    kek = one(pkcs11=hardware_token.settings("kek", pin_file=str(pin_file)))
    with pytest.raises(VaultFailed, match="PinIncorrect") as caught:
        kek.wrap(KEY, b"wrap")
    assert "99999999" not in str(caught.value) + repr(kek)


def test_a_vault_lives_under_a_token(hardware_token: HardwareToken, sqlite_home: SqliteHome) -> None:
    keks = load_keks(settings({"pkcs11": hardware_token.settings("kek")}))
    with_vault(sqlite_home, lambda v: v.store(ONE, {TOKEN: VALUE}), keks=keks)
    assert with_vault(sqlite_home, lambda v: v.load(ONE), keks=keks) == {TOKEN: VALUE}
    other = load_keks(settings({"pkcs11": hardware_token.settings("another")}))
    with pytest.raises(InputError, match="none of the KEKs opens this vault"):
        with_vault(sqlite_home, lambda v: v.load(ONE), keks=other)


_FORKS = """
import os, sys
from pathlib import Path
from sovctl.gateway.settings import Pkcs11Settings
from sovctl.gateway.vault.encryption.pkcs11_kek import Pkcs11Kek
kek = Pkcs11Kek(Pkcs11Settings.model_validate_json(sys.argv[1]), sys.stdin.readline().strip())
wrapped = kek.wrap(bytes(32), b"wrap")
for _ in range(2):
    if (pid := os.fork()) == 0:
        os._exit(0 if kek.unwrap(wrapped, b"wrap") == bytes(32) else 1)
    assert os.waitpid(pid, 0)[1] == 0
assert kek.unwrap(wrapped, b"wrap") == bytes(32)
"""


def test_a_token_serves_workers_that_were_forked(hardware_token: HardwareToken) -> None:
    command = [sys.executable, "-c", _FORKS, json.dumps(hardware_token.settings("kek"))]
    done = subprocess.run(command, input=PIN, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert isinstance(one(pkcs11=hardware_token.settings("kek")), Pkcs11Kek)
    assert LABEL not in one(pkcs11=hardware_token.settings("kek")).id


_AWAY = """
import sys
from pathlib import Path
from sovctl.gateway.settings import Pkcs11Settings
from sovctl.gateway.vault.encryption.errors import VaultFailed
from sovctl.gateway.vault.encryption.pkcs11_kek import Pkcs11Kek
kek = Pkcs11Kek(Pkcs11Settings.model_validate_json(sys.argv[1]), sys.stdin.readline().strip())
tokens = Path(sys.argv[2])
away = tokens.rename(tokens.with_name("away"))
tokens.mkdir()
try:
    kek.wrap(bytes(32), b"wrap")
except VaultFailed as error:
    assert "NoSuchToken" in str(error), error
else:
    raise AssertionError("wrapped without a token")
tokens.rmdir()
away.rename(tokens)
assert kek.unwrap(kek.wrap(bytes(32), b"wrap"), b"wrap") == bytes(32)
"""


def test_a_token_that_was_not_there_at_first_is_found_later(hardware_token: HardwareToken, tmp_path: Path) -> None:
    config = Path(os.environ["SOFTHSM2_CONF"])
    shutil.copytree(config.with_name("tokens"), tmp_path / "tokens")
    (tmp_path / "softhsm2.conf").write_text(config.read_text().replace(str(config.parent), str(tmp_path)))
    command = [sys.executable, "-c", _AWAY, json.dumps(hardware_token.settings("kek")), str(tmp_path / "tokens")]
    env = {**os.environ, "SOFTHSM2_CONF": str(tmp_path / "softhsm2.conf")}
    done = subprocess.run(command, input=PIN, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
