"""A real gateway with an index of listed people: names leave as tokens, a new index is taken up, a bad one is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from echo_upstream import EchoUpstream
from listed_givens import write_list
from loopback_gateway import running_gateway, say, write_loopback_config
from waiting import until

from sovctl.gateway.commands.main import main
from sovctl.support.errors import ExitCode


def build(folder: Path, *people: tuple[str, str]) -> None:
    """The index of these people in its place, as an operator makes it."""
    rows = [{"given name": given, "surname": surname} for given, surname in people]
    source = write_list(folder / "list.csv", rows)
    command = ["edm", "build", "--out", str(folder / "listed.edm"), "--key-file", str(folder / "edm.key"), str(source)]
    assert main(command) == 0


def listed(folder: Path) -> dict[str, Any]:
    """The settings."""
    return {"exact_data_match": {"index_file": str(folder / "listed.edm"), "key_file": str(folder / "edm.key")}}


def test_listed_names_leave_as_tokens_and_a_new_list_is_taken_up(tmp_path: Path) -> None:
    build(tmp_path, ("Solveig", "Haraldsdottir"))
    text = "The loan that haraldsdottir solveig wanted is open, and then Tamsin Quimbleby called."
    with EchoUpstream() as cloud:
        config = write_loopback_config(tmp_path, cloud_port=cloud.port, detect=listed(tmp_path))
        with running_gateway(config) as gateway:

            def asked() -> str:
                status, _, answer = gateway.post(say(text))
                assert status == 200
                assert json.loads(answer)["choices"][0]["message"]["content"] == text
                return str(cloud.requests[-1])

            sent = asked()
            assert "solveig" not in sent
            assert "Quimbleby" in sent
            build(tmp_path, ("Tamsin", "Quimbleby"))
            until(lambda: "Quimbleby" not in asked(), "the new list")
            assert "solveig" in asked()
            changes = [each["changed"] for each in gateway.records() if each["type"] == "gateway.policy"]
            assert changes == [["detect"]]
            before = (tmp_path / "listed.edm").read_bytes()
            broken = tmp_path / "broken.edm"
            broken.write_bytes(before[:-1])
            broken.replace(tmp_path / "listed.edm")
            until(lambda: b"damaged" in gateway.get("/readyz")[1], "the refusal")
            assert "Quimbleby" not in asked()
            log = gateway.log()
    for name in ("olveig", "araldsdottir", "uimbleby"):
        assert name not in log
        assert name not in str([path.read_bytes() for path in tmp_path.rglob("*") if path.suffix == ".edm"])


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda folder: (folder / "listed.edm").unlink(), "listed.edm: expected an index of names, got: No such file"),
        (lambda folder: (folder / "edm.key").write_text("00" * 32), "another key"),
        (lambda folder: (folder / "listed.edm").write_bytes(b"x"), "got another file"),
        (lambda folder: (folder / "edm.key").chmod(0o644), "readable by others"),
    ],
    ids=["absent", "another key", "damaged", "open key"],
)
@pytest.mark.parametrize("word", ["serve", "check"])
def test_no_gateway_starts_without_the_list_it_names(
    tmp_path: Path, spoil: Callable[[Path], Any], told: str, word: str, capfd: pytest.CaptureFixture[str]
) -> None:
    build(tmp_path, ("Solveig", "Haraldsdottir"))
    config = write_loopback_config(tmp_path, cloud_port=9, detect=listed(tmp_path))
    spoil(tmp_path)
    capfd.readouterr()
    assert main([word, "--config", str(config)]) != 0
    said = "".join(capfd.readouterr())
    assert told in said
    assert "Traceback" not in said


def test_check_says_who_is_listed_in_numbers(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    build(tmp_path, ("Solveig", "Haraldsdottir"), ("Tamsin", "Quimbleby"))
    config = write_loopback_config(tmp_path, cloud_port=9, detect=listed(tmp_path))
    capfd.readouterr()
    assert main(["check", "--config", str(config)]) == 0
    [row] = [line for line in capfd.readouterr().out.splitlines() if line.split()[1] == "listed"]
    assert "2 people, 0 companies, built 20" in row
    assert row.startswith("PASS")


def test_names_of_a_language_that_only_the_list_covers_may_be_declared(tmp_path: Path) -> None:
    build(tmp_path, ("Ерлан", "Бекмұратов"))
    policy = {"name_languages": ["kk"]}
    with_list = write_loopback_config(tmp_path / "a", cloud_port=9, detect=listed(tmp_path), policy=policy)
    without = write_loopback_config(tmp_path / "b", cloud_port=9, policy=policy)
    assert main(["check", "--config", str(with_list)]) == 0
    assert main(["check", "--config", str(without)]) == ExitCode.BAD_INPUT


def test_a_build_tells_what_it_made_and_makes_the_key_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    build(tmp_path, ("Solveig", "Haraldsdottir"))
    out, err = capfd.readouterr()
    assert "people: 1" in out
    assert "edm.key: created" in err
    key = (tmp_path / "edm.key").read_text()
    assert (tmp_path / "edm.key").stat().st_mode & 0o777 == 0o600
    build(tmp_path, ("Solveig", "Haraldsdottir"))
    assert (tmp_path / "edm.key").read_text() == key
    assert "made" not in capfd.readouterr().err


def test_a_refused_build_exits_with_two_and_shows_no_name(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "list.csv").write_text("given name,surname\nSolveig,Haraldsdottir\nKwabena\n")
    files = ["--out", str(tmp_path / "listed.edm"), "--key-file", str(tmp_path / "edm.key")]
    assert main(["edm", "build", *files, "--column", "surname", str(tmp_path / "list.csv")]) != 0
    assert "FIELD=HEADER" in capfd.readouterr().err
    assert main(["edm", "build", *files, str(tmp_path / "list.csv")]) != 0
    err = capfd.readouterr().err
    assert "line 3: expected 2 columns, got 1" in err
    assert "Kwabena" not in err
    assert main(["edm", "build", *files, "--skip-invalid-rows", "--json", str(tmp_path / "list.csv")]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out)["left_out"] == 1
    assert "line 3: skipped" in err
