"""k of n witnesses: a checkpoint anchors only with the quorum of the policy, in both verifiers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sovctl.compliance.audit import command
from sovctl.compliance.ledger.checkpoint import parse_checkpoint
from sovctl.compliance.ledger.cosigned import add_cosignatures
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.ledger.witness import request
from sovctl.compliance.ledger.witness_memory import WitnessMemory
from sovctl.compliance.report.verifier_archive import build
from sovctl.compliance.signing import load_or_create, parse_vkey
from sovctl.support.errors import InputError

ORIGIN = "sovctl.site/test"
NAMES = ("audit", "risk", "board")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger, three laptops with a witness each, and a policy of two of three."""
    folder = tmp_path_factory.mktemp("site")
    key = load_or_create(folder / "keys" / "ledger.key")
    with Ledger.open(folder / "ledger", origin=ORIGIN, key=key) as ledger:
        ledger.append([{"type": "event", "number": number} for number in range(50)])
    (folder / "request").write_text(request(LedgerReader(folder / "ledger"), old_size=0))
    log = parse_vkey((folder / "ledger" / "log.vkey").read_text())
    lines = [f"log {(folder / 'ledger' / 'log.vkey').read_text()}"]
    for name in NAMES:
        WitnessMemory(folder / name, name=f"{name}.example").sign(folder / "request", log_key=log)
        lines.append(f"witness {name} {(folder / name / 'witness.vkey').read_text()}")
    (folder / "policy").write_text("".join(lines) + "group outside 2 audit risk board\nquorum outside\n")
    return folder


def joined(site: Path, target: Path, *names: str) -> Path:
    """One checkpoint with the cosignatures of these witnesses."""
    found = [parse_checkpoint((site / n / "logs" / "sovctl.site_test" / "checkpoint").read_bytes()) for n in names]
    lines = [found[0].note.signatures[0], *(each.note.signatures[1] for each in found)]
    target.write_text(str(replace(found[0].note, signatures=tuple(lines))))
    return target


@pytest.mark.parametrize(
    ("names", "verdict"), [(("audit", "risk"), "ok"), (("audit", "risk", "board"), "ok"), (("board",), "failed")]
)
def test_two_of_three_anchor(site: Path, tmp_path: Path, names: tuple[str, ...], verdict: str) -> None:
    kept = joined(site, tmp_path / "checkpoint", *names)
    result = command.verify(site / "ledger", checkpoints=[kept], witness_policy=site / "policy")
    assert result.verdict == verdict
    assert result.ledger is not None
    assert result.ledger.key_is_independent
    (tmp_path / "v.pyz").write_bytes(build())
    words = [sys.executable, "-I", "-S", tmp_path / "v.pyz", site / "ledger", "--checkpoint", kept, "--json"]
    done = subprocess.run(
        [*map(str, words), "--witness-policy", str(site / "policy")], capture_output=True, text=True, check=False
    )
    assert json.loads(done.stdout)["verdict"] == verdict


def test_collected_cosignatures_anchor_the_copy_on_the_site(site: Path, tmp_path: Path) -> None:
    ledger = Path(shutil.copytree(site / "ledger", tmp_path / "ledger"))
    assert command.verify(ledger, witness_policy=site / "policy").verdict == "unproven"
    files = [site / name / "logs" / "sovctl.site_test" / "checkpoint" for name in NAMES]
    for path in files[:2]:
        add_cosignatures(ledger, [path])
    assert command.verify(ledger, witness_policy=site / "policy").verdict == "ok"
    assert len(add_cosignatures(ledger, files).note.signatures) == 4


def test_a_checkpoint_of_another_log_is_not_collected(site: Path, tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "other", origin=ORIGIN, key=load_or_create(tmp_path / "key")) as ledger:
        ledger.append([{"type": "event"}])
    other = tmp_path / "other" / "checkpoint"
    with pytest.raises(InputError, match="with a cosignature"):
        add_cosignatures(site / "ledger", [other])
    cosigned = joined(site, tmp_path / "checkpoint", "audit").read_text().splitlines()
    other.write_text(f"{other.read_text()}{cosigned[-1]}\n")
    with pytest.raises(InputError, match="bad-signature"):
        add_cosignatures(site / "ledger", [other])


def test_the_cosignature_of_one_witness_counts_once(site: Path, tmp_path: Path) -> None:
    kept = joined(site, tmp_path / "checkpoint", "audit", "audit")
    result = command.verify(site / "ledger", checkpoints=[kept], witness_policy=site / "policy")
    assert [each.area for each in result.findings] == ["witness"]


def test_a_policy_without_witnesses_and_a_second_source_of_keys_are_refused(site: Path, tmp_path: Path) -> None:
    (tmp_path / "none").write_text("quorum none\n")
    with pytest.raises(InputError, match="expected a quorum with witnesses"):
        command.verify(site / "ledger", witness_policy=tmp_path / "none")
    with pytest.raises(InputError, match="excludes"):
        command.verify(site / "ledger", witness_policy=site / "policy", witnesses=2)
