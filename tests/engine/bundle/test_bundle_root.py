"""The root of trust: two of three holders sign, two remaining holders replace the third, tokens hold keys."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import warm_processes
from bundle_specimens import TARGETS, Builder, specimen_files

from sovctl.engine.bundle import root, signing
from sovctl.engine.bundle.keys import create, read_vkey
from sovctl.engine.bundle.medium import Medium
from sovctl.engine.bundle.trust import Refused, Verified, open_bundle
from sovctl.support.errors import InputError


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    return Builder(tmp_path)


def opened(builder: Builder, folder: Path, memory: Path) -> Verified:
    return open_bundle([Medium(folder)], root_sha256=builder.root_sha256, memory=memory)


def test_two_of_three_are_needed(builder: Builder, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    holders = [builder.holder(each) for each in ("anna", "ben", "carol")]
    root.init(folder, root.Holders(holders, holders[:2], [builder.holder("builder")]), now=builder.now)
    words = root.state(folder).sha256
    assert root.sign(folder, builder.key("carol")).missing == 1
    assert root.sign(folder, builder.key("carol")).missing == 1  # the same key twice counts once
    with pytest.raises(InputError, match="lacks 1 signatures"):
        root.newest(folder)
    assert root.sign(folder, builder.key("anna")) == root.state(folder)
    assert root.state(folder).signed_by == ["anna", "carol"]
    assert root.state(folder).sha256 == words  # signatures do not change the words on paper
    with pytest.raises(InputError, match="not a key of a root holder"):
        root.sign(folder, builder.key("builder"))


def test_the_same_key_twice_is_refused_at_the_ceremony(builder: Builder, tmp_path: Path) -> None:
    twice = [("anna", builder.key("anna").public), ("ben", builder.key("anna").public)]
    online = [builder.holder("builder")]
    with pytest.raises(InputError, match="repeated in role root"):
        root.init(tmp_path / "other", root.Holders(twice, twice, online), now=builder.now)
    with pytest.raises(InputError, match="expected at least 2 keys"):
        root.init(tmp_path / "other", root.Holders(twice[:1], twice[:1], online), now=builder.now)
    assert not (tmp_path / "other").exists()


def test_the_two_remaining_holders_replace_the_third(builder: Builder, tmp_path: Path) -> None:
    store, _ = builder.build(specimen_files())
    assert opened(builder, store.root, tmp_path / "memory").root_version == 1
    root.rotate(builder.trust, "root", remove="carol", add=builder.holder("dave"), now=builder.now)
    assert root.sign(builder.trust, builder.key("carol")).missing == 2  # holder of the old version only
    assert root.sign(builder.trust, builder.key("anna")).missing == 1
    with pytest.raises(InputError, match="lacks 1 signatures"):
        root.rotate(builder.trust, "root", remove="ben", add=builder.holder("erik"), now=builder.now)
    assert root.sign(builder.trust, builder.key("ben")).missing == 0
    builder.build(specimen_files(seed=2))
    assert opened(builder, store.root, tmp_path / "memory").root_version == 2


def test_a_root_by_one_old_and_the_new_holder_is_refused(builder: Builder, tmp_path: Path) -> None:
    store, _ = builder.build(specimen_files())
    root.rotate(builder.trust, "root", remove="carol", add=builder.holder("dave"), now=builder.now)
    root.sign(builder.trust, builder.key("anna"))
    path = builder.trust / "2.root.json"
    document = json.loads(path.read_bytes())
    metadata = root.parse(path.read_bytes(), where="test")
    signature = builder.key("dave").sign(metadata.signed_bytes).hex()
    document["signatures"].append({"keyid": builder.key("dave").public.keyid, "sig": signature})
    (store.metadata / "2.root.json").write_text(json.dumps(document))
    with pytest.raises(Refused, match="too few valid signatures"):
        opened(builder, store.root, tmp_path / "memory")


def test_a_replaced_targets_holder_signs_nothing_any_more(builder: Builder) -> None:
    root.rotate(builder.trust, "targets", remove="ben", add=builder.holder("dave"), now=builder.now)
    for name in TARGETS:
        root.sign(builder.trust, builder.key(name))
    store, _ = builder.build(specimen_files(), signers=["anna", "dave", "builder"])
    assert store.is_signed()
    with pytest.raises(InputError, match="is not a key of targets"):
        signing.sign(store, [builder.key("ben")])


def test_key_files_are_private(tmp_path: Path) -> None:
    (path,) = create(tmp_path, ["anna"])
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.read_bytes()
    create(tmp_path, ["anna"])
    assert path.read_bytes() == before
    assert read_vkey(tmp_path / "anna.vkey")[0] == "anna"
    for name in ("../x", "a b", "a+b", ""):
        with pytest.raises(InputError):
            create(tmp_path, [name])


MODULES = ("/usr/lib/softhsm/libsofthsm2.so", "/usr/lib64/softhsm/libsofthsm2.so")
_MAKE = """
import sys, pkcs11
from pkcs11 import Attribute, KeyType, Mechanism
from pkcs11.util.ec import encode_named_curve_parameters
with pkcs11.lib(sys.argv[1]).get_token(token_label="bundle").open(user_pin="246813", rw=True) as session:
    curve = {Attribute.EC_PARAMS: encode_named_curve_parameters("1.3.101.112")}
    parameters = session.create_domain_parameters(KeyType.EC_EDWARDS, curve, local=True)
    parameters.generate_keypair(mechanism=Mechanism.EC_EDWARDS_KEY_PAIR_GEN, store=True, label="carol")
"""


def test_a_holder_signs_with_a_token(builder: Builder, tmp_path: Path) -> None:
    """In processes of their own, because a process reads SOFTHSM2_CONF once."""
    module = next((path for path in MODULES if Path(path).exists()), "")
    assert module, "expected SoftHSM2, got none: make test-packages"
    (tmp_path / "tokens").mkdir()
    config = tmp_path / "softhsm2.conf"
    config.write_text(f"directories.tokendir = {tmp_path}/tokens\nobjectstore.backend = file\nlog.level = ERROR\n")
    environ = {"SOFTHSM2_CONF": str(config), "PATH": "/usr/bin:/bin"}
    words = ["softhsm2-util", "--init-token", "--free", "--label", "bundle", "--pin", "246813", "--so-pin", "246813"]
    subprocess.run(words, check=True, capture_output=True, env=environ)
    subprocess.run([sys.executable, "-c", _MAKE, module], check=True, capture_output=True, env=environ)
    (tmp_path / "pin").write_text("246813\n")
    (tmp_path / "pin").chmod(0o600)
    key = tmp_path / "keys" / "carol.key"
    key.unlink()
    key.write_text(f"pkcs11:token=bundle;object=carol?module-path={module}&pin-source=file:{tmp_path}/pin\n")
    key.chmod(0o600)

    def sovctl(*words: object) -> str:
        done = warm_processes.sovctl("bundle", *map(str, words), cwd=tmp_path, env=environ)
        assert done.returncode == 0, done.stderr
        return done.stdout

    sovctl("keys", "keys", "anna", "ben", "carol", "builder")
    roles = [(role, f"keys/{name}.vkey") for role, name in (("root", "anna"), ("root", "ben"), ("root", "carol"))]
    roles += [("targets", "keys/anna.vkey"), ("targets", "keys/carol.vkey"), ("online", "keys/builder.vkey")]
    sovctl("root", "init", "hsm", *(word for role, path in roles for word in (f"--{role}-key", path)))
    sovctl("root", "sign", "hsm", "--key", key)
    assert "anna, carol; missing signatures: 0" in sovctl("root", "sign", "hsm", "--key", "keys/anna.key")
    lock = builder.lock(specimen_files())
    words = ["--files", builder.mirror, "--lock", lock, "--trust", "hsm", "--site", "bank", "-o", "made"]
    signers = ["--key", key, "--key", "keys/anna.key", "--key", "keys/builder.key"]
    assert "all signatures are complete" in sovctl("build", *words, *signers, "--chunk-size", "64KiB")
    assert "signed by anna, carol" in sovctl("verify", "made", "--root", "hsm")
