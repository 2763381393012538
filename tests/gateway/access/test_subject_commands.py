"""`gateway subject` beside a running gateway: what is held is exported, then erased, and older proofs verify."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import warm_processes
import yaml
from oidc_givens import AUDIENCE, ISSUER, jwks, token
from waiting import until

from sovctl.compliance.ledger.merkle import leaf_hash
from sovctl.compliance.ledger.proof import verify_consistency, verify_inclusion
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import load
from sovctl.support.errors import ExitCode

MAIL = "anna@example.com"
PERSON = "idp:5f1c"


@pytest.fixture(scope="module")
def served(start: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("subject")
    (folder / "jwks.json").write_bytes(jwks("ec"))
    issuer = {
        "name": "idp",
        "issuer": ISSUER,
        "audience": AUDIENCE,
        "jwks_file": str(folder / "jwks.json"),
        "grants": [{"group": "staff", "tenant": "retail"}],
    }
    return start(access={"identity_providers": [issuer]}, workers=2)


def ask(gateway: Any, key: str, content: str) -> str:
    answer = gateway.client(key).chat.completions.create(
        model="assistant",
        messages=[{"role": "user", "content": content}],
        extra_headers={"x-sovctl-conversation": "c1"},
    )
    return str(answer.choices[0].message.content)


def subject(gateway: Any, word: str, *options: str, said: str = "") -> subprocess.CompletedProcess[str]:
    return warm_processes.gateway("subject", word, "--config", gateway.config, *options, answers=said)


def ledger_of(gateway: Any) -> Path:
    return Path(yaml.safe_load(gateway.config.read_text())["ledger"]["directory"])


def test_a_person_is_exported_and_erased_and_older_proofs_verify(served: Any, cloud: Any, tmp_path: Path) -> None:
    for sub in ("5f1c", "another"):
        key = token("ec", sub=sub)
        assert ask(served, key, f"Please write to {MAIL} today.") == f"Please write to {MAIL} today."
    old_token = cloud.requests[0]["messages"][0]["content"].split(" ")[3]
    requests = [each for each in served.records() if each["type"] == "gateway.request"]
    assert [each["client"] for each in requests] == ["idp", "idp"]
    assert len({each["subject"] for each in requests}) == 2
    assert b"5f1c" not in (ledger_of(served) / "entries").read_bytes()

    out = tmp_path / "person.json"
    exported = subject(served, "export", "--subject", PERSON, "--out", str(out))
    assert exported.returncode == 0, exported.stderr
    assert MAIL not in exported.stdout + exported.stderr
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    document = json.loads(out.read_text())
    assert [list(each["values"].values()) for each in document["conversations"]] == [[MAIL]]
    assert [each["record"]["type"] for each in document["ledger_entries"]] == ["gateway.request", "gateway.answer"]
    assert subject(served, "export", "--subject", PERSON, "--out", str(out)).returncode == ExitCode.BAD_INPUT

    dry = json.loads(subject(served, "erase", "--subject", PERSON, "--dry-run", "--json").stdout)
    assert (dry["ledger_entries"], dry["values"], dry["salts"]) == (2, 1, 1)
    assert subject(served, "erase", "--subject", PERSON, said="no\n").returncode == ExitCode.BAD_INPUT
    index = document["ledger_entries"][0]["index"]
    until(lambda: LedgerReader(ledger_of(served)).checkpoint.size > index, "a checkpoint with the request")
    kept = Path(shutil.copytree(ledger_of(served), tmp_path / "before"))
    erased = subject(served, "erase", "--subject", PERSON, "--yes", "--json")
    assert erased.returncode == 0, erased.stderr
    receipt = json.loads(erased.stdout)
    assert (receipt["scope"], receipt["is_complete"], receipt["is_recorded"]) == ("principal", True, True)
    [record] = [each for each in served.records() if each["type"] == "gateway.erased"]
    assert record["destroyed_sha256"] == receipt["destroyed_sha256"] != ""
    assert (record["by"], PERSON in json.dumps(record)) == (receipt["by"], False)

    after = json.loads(subject(served, "erase", "--subject", PERSON, "--dry-run", "--json").stdout)
    assert {name: after[name] for name in ("ledger_entries", "conversations", "salts")} == {
        "ledger_entries": 0,
        "conversations": 0,
        "salts": 0,
    }
    other = json.loads(subject(served, "erase", "--subject", "idp:another", "--dry-run", "--json").stdout)
    assert (other["ledger_entries"], other["values"]) == (2, 1)
    provider = json.loads(subject(served, "erase", "--subject", "idp", "--dry-run", "--json").stdout)
    assert (provider["ledger_entries"], provider["conversations"]) == (0, 0)
    cloud.script.message = lambda _: {"role": "assistant", "content": f"It is {old_token}."}
    assert ask(served, token("ec"), "Which address was it?") == f"It is {old_token}."

    served.stop()
    settings = yaml.safe_load(served.config.read_text())["ledger"]
    with Ledger.open(ledger_of(served), origin=settings["origin"], key=load(Path(settings["key_file"]))) as ledger:
        before, now = LedgerReader(kept).checkpoint, ledger.checkpoint()
        entry = next(each for each in LedgerReader(kept).entries() if each.leaf_index == index)
        leaf = leaf_hash(entry.data)
        assert verify_inclusion(leaf, index, before.size, ledger.inclusion_proof(index, size=before.size), before.root)
        assert verify_inclusion(leaf, index, now.size, ledger.inclusion_proof(index), now.root)
        proof = ledger.consistency_proof(before.size)
        assert verify_consistency(before.size, before.root, now.size, now.root, proof)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ((), "give either --subject or --values-file"),
        (("--values-file", "-"), "--tenant and --values-file must be given together"),
        (("--values-file", "-", "--tenant", "retail"), "standard input has the values"),
        (("--values-file", "-", "--tenant", "retail", "--yes"), "expected 1 to 200 values, got 0"),
    ],
)
def test_what_names_no_subject_is_refused(served: Any, options: tuple[str, ...], complaint: str) -> None:
    done = subject(served, "erase", *options)
    assert done.returncode == ExitCode.BAD_INPUT
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
