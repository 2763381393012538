"""The survey of accounts reports who may log in or become root, and is not in site.yaml."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sovctl.engine.plan.unmanaged import ACCOUNTS_PROGRAM

OWN_KEY, OTHER_KEY = "ssh-ed25519 AAAAC3own", "ssh-ed25519 AAAAC3other"
PASSWD = """root:x:0:0:root:/root:/bin/bash
daemon:x:1:1::/:/usr/sbin/nologin
ops:x:1000:1000::/home/ops:/bin/bash
anna:x:1001:1001::/home/anna:/bin/bash
former:x:1002:1002::/home/former:/bin/bash
nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin
"""
SHADOW = """root:$y$hash:20000:0:99999:7:::
daemon:*:20000:0:99999:7:::
ops:!:20000:0:99999:7:::
anna:!:20000:0:99999:7:::
former:!:20000:0:99999:7::0:
nobody:*:20000:0:99999:7:::
"""
GROUP = "root:x:0:\nsudo:x:27:ops,anna\nusers:x:100:daemon\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in (("passwd", PASSWD), ("shadow", SHADOW), ("group", GROUP)):
        (tmp_path / "etc").mkdir(exist_ok=True)
        (tmp_path / "etc" / path).write_text(text)
    keys(tmp_path, "ops", f"# of sovctl\n{OWN_KEY} controller\n")
    keys(tmp_path, "anna", f"{OTHER_KEY}\n")
    return tmp_path


def keys(root: Path, name: str, text: str) -> None:
    folder = root / "home" / name / ".ssh"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "authorized_keys").write_text(text)


def replace(root: Path, file: str, old: str, new: str) -> None:
    path = root / "etc" / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def append(root: Path, file: str, line: str) -> None:
    with (root / "etc" / file).open("a") as stream:
        stream.write(line)


def survey(root: Path, own: tuple[str, ...] = (OWN_KEY,)) -> list[list[str]]:
    request = json.dumps({"accounts": ["anna", "sovctl-vllm"], "login": "ops", "keys": own})
    command = [sys.executable, str(ACCOUNTS_PROGRAM), request, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    found: list[list[str]] = json.loads(done.stdout)
    return found


def test_accounts_of_site_yaml_of_the_system_and_former_administrators_are_no_rows(root: Path) -> None:
    assert survey(root) == []


def _bob(root: Path) -> None:
    append(root, "passwd", "bob:x:1003:1003::/home/bob:/bin/bash\n")


CASES: dict[str, tuple[Callable[[Path], None], list[str]]] = {
    "a second root": (
        lambda root: append(root, "passwd", "toor:x:0:0::/:/bin/sh\n"),
        ["user", "toor", "has user id 0"],
    ),
    "an administrator as root": (
        lambda root: replace(root, "passwd", "anna:x:1001", "anna:x:0"),
        ["user", "anna", "has user id 0"],
    ),
    "an unknown account": (_bob, ["user", "bob", "account that site.yaml does not contain"]),
    "an empty password": (
        lambda root: replace(root, "shadow", "daemon:*", "daemon:"),
        ["user", "daemon", "has an empty password"],
    ),
    "a password of a system account": (
        lambda root: replace(root, "shadow", "daemon:*", "daemon:$y$hash"),
        ["user", "daemon", "system account with a password"],
    ),
    "a former administrator who is not expired any more": (
        lambda root: replace(root, "shadow", "7::0:", "7:::"),
        ["user", "former", "account that site.yaml does not contain"],
    ),
    "a member of sudo": (
        lambda root: replace(root, "group", "ops,anna", "ops,anna,daemon"),
        ["user", "daemon", "member of group sudo"],
    ),
    "a second key of sovctl's account": (
        lambda root: keys(root, "ops", f'{OWN_KEY}\nfrom="192.0.2.9" {OTHER_KEY} x\n'),
        ["access", "/home/ops/.ssh/authorized_keys", "1 key besides sovctl's"],
    ),
    "a key of a system account": (
        lambda root: (replace(root, "passwd", "1:1::/:", "1:1::/home/d:"), keys(root, "d", f"{OTHER_KEY}\n"))[0],
        ["access", "/home/d/.ssh/authorized_keys", "1 key of daemon"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_change_is_the_only_row(name: str, root: Path) -> None:
    act, row = CASES[name]
    act(root)
    assert survey(root) == [row]


def test_without_the_controllers_public_key_every_key_of_its_account_is_a_row(root: Path) -> None:
    assert survey(root, ()) == [["access", "/home/ops/.ssh/authorized_keys", "1 key besides sovctl's"]]


def test_rows_contain_no_password_hash_and_no_key(root: Path) -> None:
    for name in ("a second root", "a second key of sovctl's account", "a password of a system account"):
        CASES[name][0](root)
    text = json.dumps(survey(root))
    assert "hash" not in text
    assert "AAAA" not in text
