"""Installer seeds: their content, their validators, their secrets, and the enrolment of the host key in them."""

from __future__ import annotations

import base64
import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
import warm_processes
import yaml
from cli_sites import ADDRESSES, INVENTED_SECRET, make_site
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_private_key
from ssh_doors import ssh_doors

from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.engine.bootstrap.autoinstall_keys import unknown_keys
from sovctl.engine.bootstrap.host_key import parse_host_key
from sovctl.support.errors import ExitCode

SETTINGS = """\
version: 1
installer: {installer}
prefix_length: 24
gateway: 127.0.0.1
nodes:
  hgx-1: {{mac: "02:00:00:00:00:11", disk_serial: S64GNE0R500123, luks_passphrase_file: secrets/luks}}
  hgx-2: {{mac: "02:00:00:00:00:12", disk_serial: S64GNE0R500124, luks_passphrase_file: null}}
"""
FILES = {"autoinstall": "user-data", "kickstart": "ks.cfg", "preseed": "preseed.cfg"}


def sovctl(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    done = warm_processes.sovctl("bootstrap", *words, cwd=folder, env=os.environ)
    assert "Traceback" not in done.stderr
    assert INVENTED_SECRET not in done.stdout + done.stderr
    assert "PRIVATE KEY" not in done.stdout + done.stderr
    return done


def write(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return sovctl(folder, "seed", "write", *words, "--settings", "seeds.yaml")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    make_site(tmp_path, ssh_port=22)
    (tmp_path / "secrets" / "luks").touch(mode=0o600)
    (tmp_path / "secrets" / "luks").write_text(INVENTED_SECRET + "\n")
    (tmp_path / "seeds.yaml").write_text(SETTINGS.format(installer="autoinstall"))
    return tmp_path


def volume(site: Path, node: str = "hgx-1") -> Path:
    return site / ".sovctl" / "seeds" / node / "volume"


def text_of(site: Path, installer: str, node: str = "hgx-1") -> str:
    (site / "seeds.yaml").write_text(SETTINGS.format(installer=installer))
    done = write(site, node)
    assert done.returncode == ExitCode.OK, done.stderr
    return (volume(site, node) / FILES[installer]).read_text()


def own_key(site: Path) -> str:
    return " ".join((site / "access" / "id_ed25519.pub").read_text().split()[:2])


def records(site: Path) -> list[dict[str, object]]:
    return [e.record for e in LedgerReader(site / ".sovctl" / "ledger").entries() if e.record["type"] == "node-seed"]


def test_autoinstall_has_key_address_disk_and_sources(site: Path) -> None:
    document = yaml.safe_load(text_of(site, "autoinstall"))
    assert list(document) == ["autoinstall"]
    values = document["autoinstall"]
    assert values["apt"] == {"fallback": "offline-install", "geoip": False}
    interface = values["network"]["ethernets"]["management"]
    assert interface["match"] == {"macaddress": "02:00:00:00:00:11"}
    assert interface["addresses"] == [f"{ADDRESSES[0]}/24"]
    layout = values["storage"]["layout"]
    assert (layout["name"], layout["password"]) == ("lvm", INVENTED_SECRET)
    assert layout["match"] == {"serial": "*S64GNE0R500123"}
    config = values["user-data"]
    (user,) = config["users"]
    assert user["ssh_authorized_keys"] == [own_key(site)]
    assert user["lock_passwd"] is True
    assert config["ssh_pwauth"] is False
    source = next(each["content"] for each in config["write_files"] if each["path"].endswith(".sources"))
    assert "Signed-By: /etc/apt/keyrings/sovctl.asc" in source
    private = load_ssh_private_key(config["ssh_keys"]["ed25519_private"].encode(), None)
    assert (
        config["ssh_keys"]["ed25519_public"] == (volume(site).parent / "ssh_host_ed25519_key.pub").read_text().strip()
    )
    public = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    assert public == config["ssh_keys"]["ed25519_public"]
    assert yaml.safe_load((volume(site) / "meta-data").read_text())["instance-id"].endswith("hgx-1")


def test_names_keys_that_the_installer_would_ignore() -> None:
    values = {"version": 1, "storage": {"layout": {"name": "lvm", "pasword": "x"}}, "ssh": {"allow_pw": False}}
    assert list(unknown_keys(values)) == ["storage.layout.pasword", "ssh.allow_pw"]


def test_a_disk_without_passphrase_is_not_encrypted(site: Path) -> None:
    layout = yaml.safe_load(text_of(site, "autoinstall", "hgx-2"))["autoinstall"]["storage"]["layout"]
    assert "password" not in layout


def test_kickstart_encrypts_the_disk_and_sets_the_address(site: Path) -> None:
    text = text_of(site, "kickstart")
    assert f"--luks-version=luks2 --passphrase={INVENTED_SECRET}" in text
    assert f"--ip={ADDRESSES[0]} --netmask=255.255.255.0" in text
    assert f'sshkey --username=ops "{own_key(site)}"' in text
    assert "rootpw --lock" in text


def setup_of(site: Path, installer: str) -> str:
    text = text_of(site, installer)
    if installer == "kickstart":
        return text.partition("%post --erroronfail\n")[2].partition("%end")[0]
    return base64.b64decode(text.rpartition("echo ")[2].partition(" ")[0]).decode()


@pytest.mark.parametrize("installer", ["kickstart", "preseed"])
def test_the_script_of_the_seed_is_a_shell_script(site: Path, installer: str) -> None:
    script = setup_of(site, installer)
    subprocess.run(["sh", "-n"], input=script.encode(), check=True)
    assert "passwd -l ops" in script


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="not run: requires root and unshare")
def test_the_script_installs_the_host_key_that_the_controller_made(site: Path, tmp_path: Path) -> None:
    """Runs the script in an own root folder, with this machine's programs, and reads the key with ssh-keygen."""
    script = setup_of(site, "preseed")
    root = tmp_path / "root"
    for name in ("etc/ssh/sshd_config.d", "etc/sudoers.d", "home/ops", "tmp", "dev"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64", "usr"):
        if (Path("/") / name).exists():
            (root / name).mkdir(exist_ok=True)
    for name in ("passwd", "shadow", "group"):
        (root / "etc" / name).write_text(
            {"passwd": "root:x:0:0::/root:/bin/sh\nops:x:1000:1000::/home/ops:/bin/sh\n",
             "shadow": "root:x:1::::::\nops:x:1::::::\n", "group": "root:x:0:\nops:x:1000:\n"}[name]
        )  # fmt: skip
    (root / "etc" / "ssh" / "ssh_host_rsa_key").write_text("of the installer\n")
    (root / "dev" / "null").touch()
    binds = "".join(
        f"mount --rbind /{name} {root}/{name} && " for name in ("bin", "sbin", "lib", "lib64", "usr")
        if (Path("/") / name).exists()
    )  # fmt: skip
    (root / "setup.sh").write_text(script)
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", f"{binds}chroot {root} /bin/sh /setup.sh"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    installed = root / "etc" / "ssh" / "ssh_host_ed25519_key"
    assert stat.S_IMODE(installed.stat().st_mode) == 0o600
    shown = subprocess.run(["ssh-keygen", "-y", "-f", installed], capture_output=True, text=True, check=True).stdout
    made = (volume(site).parent / "ssh_host_ed25519_key.pub").read_text()
    assert shown.split()[:2] == made.split()[:2]
    assert not (root / "etc" / "ssh" / "ssh_host_rsa_key").exists()
    assert (root / "home" / "ops" / ".ssh" / "authorized_keys").read_text().strip() == own_key(site)
    assert (root / "home" / "ops" / ".ssh" / "authorized_keys").stat().st_uid == 1000
    assert "ops:!" in (root / "etc" / "shadow").read_text()


VALIDATORS = {"autoinstall": "cloud-init", "kickstart": "ksvalidator", "preseed": "debconf-set-selections"}


@pytest.mark.parametrize("node", ["hgx-1", "hgx-2"])
@pytest.mark.parametrize(("installer", "program"), VALIDATORS.items())
def test_the_validator_of_the_installer_accepts_the_seed(site: Path, installer: str, program: str, node: str) -> None:
    if not shutil.which(program):
        pytest.skip(f"not run: no {program}")
    (site / "seeds.yaml").write_text(SETTINGS.format(installer=installer))
    done = write(site, node, "--json")
    assert done.returncode == ExitCode.OK, done.stderr
    assert json.loads(done.stdout)["seeds"][0]["validated_by"] == program


def test_secrets_are_readable_by_the_owner_only(site: Path) -> None:
    assert write(site, "hgx-1", "hgx-2").returncode == ExitCode.OK
    for node in ("hgx-1", "hgx-2"):
        assert stat.S_IMODE(volume(site, node).stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in volume(site, node).iterdir()} == {0o600}
    keys = [(volume(site, node).parent / "ssh_host_ed25519_key.pub").read_text() for node in ("hgx-1", "hgx-2")]
    assert keys[0] != keys[1]


def test_erase_removes_the_private_half_and_keeps_the_public_one(site: Path) -> None:
    assert write(site, "hgx-1").returncode == ExitCode.OK
    public = parse_host_key((volume(site).parent / "ssh_host_ed25519_key.pub").read_text(), where="seed")
    assert write(site, "hgx-1").returncode == ExitCode.BAD_INPUT
    assert sovctl(site, "seed", "erase", "hgx-1").stdout == "hgx-1: erased\n"
    assert sovctl(site, "seed", "erase", "hgx-1").stdout == "hgx-1: already erased\n"
    left = [path for path in (site / ".sovctl").rglob("*") if path.is_file() and b"PRIVATE KEY" in path.read_bytes()]
    assert [path.name for path in left] == ["ledger.key"]
    assert [(each["event"], each["fingerprint"]) for each in records(site)] == [
        ("written", public.fingerprint),
        ("erased", public.fingerprint),
    ]
    assert sovctl(site, "seed", "erase", "hgx-2").returncode == ExitCode.BAD_INPUT


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("gateway:", "gatway:", "gatway: unknown key"),
        ("02:00:00:00:00:12", "02:00:00:00:00:11", "two nodes have the same MAC address"),
        ("hgx-2:", "hgx-9:", "site.yaml has no node 'hgx-9'"),
        ("S64GNE0R500123", "a$(reboot)", "nodes.hgx-1.disk_serial"),
        ("secrets/luks", "secrets/none", "unreadable secret"),
    ],
)
def test_refuses_invalid_settings_and_writes_nothing(site: Path, old: str, new: str, problem: str) -> None:
    (site / "seeds.yaml").write_text(SETTINGS.format(installer="preseed").replace(old, new, 1))
    done = write(site, "hgx-1")
    assert done.returncode == ExitCode.BAD_INPUT
    assert problem in done.stderr
    assert not (site / ".sovctl" / "seeds").exists()


def test_refuses_an_open_or_short_passphrase(site: Path) -> None:
    (site / "secrets" / "luks").chmod(0o644)
    assert "readable by others" in write(site, "hgx-1").stderr
    (site / "secrets" / "luks").chmod(0o600)
    (site / "secrets" / "luks").write_text("too short\n")
    done = write(site, "hgx-1")
    assert done.returncode == ExitCode.BAD_INPUT
    assert "too short" not in done.stderr


def test_a_node_is_enrolled_from_its_seed_only_if_it_offers_that_key(tmp_path: Path) -> None:
    with ssh_doors() as doors:
        make_site(tmp_path, ssh_port=doors.port)
        (tmp_path / "seeds.yaml").write_text(SETTINGS.format(installer="autoinstall").replace("secrets/luks", "null"))
        assert sovctl(tmp_path, "enrol", "hgx-1", "--from-seed").returncode == ExitCode.BAD_INPUT
        assert write(tmp_path, "hgx-1").returncode == ExitCode.OK
        done = sovctl(tmp_path, "enrol", "hgx-1", "--from-seed")
        assert done.returncode == ExitCode.FAILURE
        assert "offers other host keys" in done.stderr
        public = volume(tmp_path).parent / "ssh_host_ed25519_key.pub"
        public.write_text(f"{doors.host_key.get_name()} {doors.host_key.get_base64()}\n")  # the server's own key
        done = sovctl(tmp_path, "enrol", "hgx-1", "--from-seed")
        assert done.returncode == ExitCode.OK, done.stderr
        assert "read-at=seed" in (tmp_path / "access" / "known_hosts").read_text()
        assert sovctl(tmp_path, "enrol", "hgx-1", "--from-seed", "--witness", "anna").returncode == ExitCode.BAD_INPUT
        assert sovctl(tmp_path, "enrol", "hgx-1").returncode == ExitCode.BAD_INPUT
