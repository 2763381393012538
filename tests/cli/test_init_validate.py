"""`sovctl init` and `sovctl validate` as an operator runs them: real processes, exit codes, and who hears what."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import warm_processes

from sovctl.engine.validation.presets import names

SOVCTL = str(Path(sys.executable).parent / "sovctl")


def _run(*words: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return warm_processes.sovctl(*words, cwd=folder, env=os.environ, timeout_s=60)


def test_a_site_is_made_and_found_valid(tmp_path: Path) -> None:
    made = _run("init", "--preset", "bank-hybrid", folder=tmp_path)
    assert (made.returncode, made.stdout) == (0, "")
    assert "sovctl plan site.yaml" in made.stderr
    checked = _run("validate", "site.yaml", folder=tmp_path)
    assert checked.returncode == 0
    assert checked.stderr == "list what is missing before the first plan: sovctl doctor site.yaml\n"
    assert checked.stdout.startswith(
        "site.yaml is valid: hybrid site example-bank (DE), 6 nodes, 4 pools on 18 of 24 GPUs, 1 perimeter exception, "
    )
    assert checked.stdout.count("\n") == 1


def test_all_problems_are_said_at_once_with_line_and_remedy(tmp_path: Path) -> None:
    _run("init", folder=tmp_path)
    site = tmp_path / "site.yaml"
    site.write_text(
        site.read_text()
        .replace("tensor_parallel_size: 2", "tensor_paralel_size: 2")
        .replace("port: 8443", "port: eight")
        .replace("platform: service", "platform: servise")
    )
    lines = site.read_text().splitlines()
    checked = _run("validate", "site.yaml", folder=tmp_path)
    assert (checked.returncode, checked.stdout) == (3, "")
    at = {
        key: next(number for number, line in enumerate(lines, 1) if key in line)
        for key in ("servise", "paralel", "eight")
    }
    assert checked.stderr.splitlines() == [
        f"sovctl: site.yaml:{at['servise']}: node_groups[1].platform: expected a known platform, got `servise`",
        checked.stderr.splitlines()[1],
        f"sovctl: site.yaml:{at['paralel']}: pools[0].tensor_paralel_size: unknown key `tensor_paralel_size`",
        "hint: did you mean `tensor_parallel_size`?",
        f"sovctl: site.yaml:{at['eight']}: gateway.port: expected a whole number from 1 to 65535, got 'eight'",
        "hint: Port for clients; always TLS; remove it for the default 8443",
        "3 problems in the site description",
    ]
    assert checked.stderr.splitlines()[1].startswith("hint: did you mean `service`?")


def test_json_is_one_document_in_both_cases(tmp_path: Path) -> None:
    _run("init", folder=tmp_path)
    good = _run("validate", "site.yaml", "--json", folder=tmp_path)
    assert (good.returncode, good.stderr) == (0, "")
    answer = json.loads(good.stdout)
    assert (answer["valid"], answer["problems"], answer["site"], answer["gpus_used"]) == (True, [], "lab", 2)
    (tmp_path / "site.yaml").write_text("pools: 1\n")
    bad = _run("validate", "site.yaml", "--json", folder=tmp_path)
    assert (bad.returncode, bad.stderr) == (3, "")
    problems = json.loads(bad.stdout)["problems"]
    assert {"where", "message", "hint"} == set(problems[0])
    assert len(problems) == 8


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["validate"], "missing argument SITE"),
        (["validate", "absent.yaml"], "absent.yaml: no such file"),
        (["validate", "."], ".: expected a file, got a folder"),
        (["init", "--preset", "labb"], "--preset: expected one of lab, ha, llama-cpp, mirror, vm, bank-hybrid"),
    ],
)
def test_wrong_use_ends_with_3_a_message_and_a_hint(words: list[str], message: str, tmp_path: Path) -> None:
    result = _run(*words, folder=tmp_path)
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr.startswith(f"sovctl: {message}")
    assert "\nhint: " in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_init_never_writes_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text("mine\n")
    refused = _run("init", folder=tmp_path)
    assert refused.returncode == 3
    assert (tmp_path / "site.yaml").read_text() == "mine\n"
    assert _run("init", "--force", folder=tmp_path).returncode == 0
    assert _run("validate", "site.yaml", folder=tmp_path).returncode == 0


def test_list_says_what_each_preset_shows(tmp_path: Path) -> None:
    listed = _run("init", "--list", folder=tmp_path)
    assert [line for line in listed.stdout.splitlines() if not line.startswith(" ")] == names()
    assert list(tmp_path.iterdir()) == []


def test_the_schema_is_printed_for_editors(tmp_path: Path) -> None:
    printed = _run("validate", "--schema", folder=tmp_path)
    assert printed.returncode == 0
    committed = Path(__file__).parent.parent.parent / "docs" / "site.schema.json"
    assert json.loads(printed.stdout) == json.loads(committed.read_text())
