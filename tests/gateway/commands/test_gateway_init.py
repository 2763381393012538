"""A gateway on one machine: made with two words, it protects any upstream, and what must stay is refused."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import openai
import pytest
import warm_processes
from echo_upstream import EchoUpstream
from loopback_ports import unused_port

from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.gateway.settings import SurfaceName, load_settings


def words(*arguments: str) -> subprocess.CompletedProcess[str]:
    return warm_processes.gateway(*arguments)


def test_what_is_wrong_is_said_and_nothing_is_left_behind(tmp_path: Path) -> None:
    folder = tmp_path / "gateway"
    neither = words("init", str(folder))
    assert neither.returncode == 3
    assert "give --cloud, --pool or both" in neither.stderr
    wrong = words("init", str(folder), "--cloud", "http://cloud.example/v1", "--languages", "english")
    assert wrong.returncode == 3
    assert f"{folder}/gateway.yaml: upstreams[0].base_urls: expected https" in wrong.stderr
    assert "policy.name_languages[0]" in wrong.stderr
    assert "Traceback" not in wrong.stderr
    assert not folder.exists()


def test_a_key_or_a_place_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    cloud = ("--cloud", "https://cloud.example/v1")
    absent = words("init", str(tmp_path / "a"), *cloud, "--cloud-key-file", str(tmp_path / "none.key"))
    assert (absent.returncode, "none.key: unreadable secret" in absent.stderr) == (3, True)
    for content in ("one\ntwo\n", "sk-\u043a\u043b\u044e\u0447\n"):
        key = tmp_path / "odd.key"
        key.touch(mode=0o600)
        key.write_text(content)
        odd = words("init", str(tmp_path / "a"), *cloud, "--cloud-key-file", str(key))
        assert (odd.returncode, "odd.key: expected one line of printable ASCII" in odd.stderr) == (3, True)
    nowhere = words("init", "/proc/gateway", *cloud)
    assert (nowhere.returncode, "/proc/gateway: the folder cannot be created" in nowhere.stderr) == (3, True)
    none = words("init", str(tmp_path / "a"), *cloud, "--languages", "")
    assert (none.returncode, "policy.name_languages[0]" in none.stderr) == (3, True)
    assert not (tmp_path / "a").exists()


def test_apis_that_the_upstream_serves_are_named_and_known(tmp_path: Path) -> None:
    cloud = ("--cloud", "https://cloud.example/v1")
    assert words("init", str(tmp_path / "a"), *cloud, "--surfaces", "chat.completions,responses").returncode == 0
    (upstream,) = load_settings(tmp_path / "a" / "gateway.yaml").upstreams
    assert upstream.surfaces == [SurfaceName.CHAT, SurfaceName.RESPONSES]
    unknown = words("init", str(tmp_path / "b"), *cloud, "--surfaces", "chat")
    assert (unknown.returncode, "upstreams[0].surfaces[0]" in unknown.stderr) == (3, True)


def test_recordings_are_for_the_pool_alone(tmp_path: Path) -> None:
    cloud, pool = ("--cloud", "https://cloud.example/v1"), ("--pool", "http://127.0.0.1:8000/v1")
    wanted = ("--surfaces", "chat.completions,audio.transcriptions")
    assert words("init", str(tmp_path / "both"), *cloud, *pool, *wanted).returncode == 0
    outside, inside = load_settings(tmp_path / "both" / "gateway.yaml").upstreams
    assert outside.surfaces == [SurfaceName.CHAT]
    assert inside.surfaces == [SurfaceName.CHAT, SurfaceName.TRANSCRIPTIONS]
    alone = words("init", str(tmp_path / "alone"), *cloud, *wanted)
    assert (alone.returncode, "clouds receive only tokenized text" in alone.stderr) == (3, True)


def test_a_base_url_without_a_path_is_noted(tmp_path: Path) -> None:
    made = words("init", str(tmp_path / "a"), "--cloud", "https://cloud.example")
    assert (made.returncode, "ends in /v1" in made.stderr) == (0, True)
    assert words("init", str(tmp_path / "b"), "--cloud", "https://cloud.example/v1").stderr == ""


def test_a_second_one_overwrites_nothing(tmp_path: Path) -> None:
    first = words("init", str(tmp_path), "--cloud", "https://cloud.example/v1")
    assert first.returncode == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    again = words("init", str(tmp_path), "--cloud", "https://cloud.example/v1")
    assert again.returncode == 3
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.iterdir())


@pytest.mark.parametrize("has_pool", [False, True])
def test_it_protects_any_upstream(has_pool: bool, tmp_path: Path) -> None:
    port = unused_port()
    with EchoUpstream() as cloud, EchoUpstream() as pool:
        own = ["--pool", pool.base_url, "--pool-model", "own"] if has_pool else []
        made = words(
            "init", str(tmp_path), "--cloud", cloud.base_url, "--cloud-model", "big", "--port", str(port), *own
        )
        assert made.returncode == 0, made.stderr
        key = made.stdout.split("shown once: ")[1].split()[0]
        with (tmp_path / "log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "sovctl.gateway", "serve", "--config", str(tmp_path / "gateway.yaml")],
                stderr=log,
            )
        try:
            with openai.OpenAI(api_key=key, base_url=f"http://127.0.0.1:{port}/v1", max_retries=0) as client:
                wait_for(client, process)
                said = ask(client, "Please write a friendly letter to anna@example.com about the new branch.")
                assert "anna@example.com" in said
                assert b"anna@example.com" not in cloud.raw[-1]
                if has_pool:
                    assert "anna@example.com" in ask(client, "Напишите, пожалуйста, письмо на anna@example.com сегодня")
                    assert b"anna@example.com" in pool.raw[-1]
                else:
                    with pytest.raises(openai.PermissionDeniedError) as refused:
                        ask(client, "Напишите, пожалуйста, письмо на anna@example.com сегодня")
                    assert refused.value.body["code"] == "stays_on_prem"  # type: ignore[index]
                    assert refused.value.body["sovctl"]["reasons"] == ["language:ru"]  # type: ignore[index]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
    records = [dict(entry.record) for entry in LedgerReader(tmp_path / "ledger").entries()]
    assert [record["type"] for record in records][:3] == ["gateway.start", "gateway.request", "gateway.answer"]


def ask(client: openai.OpenAI, content: str) -> str:
    answer = client.chat.completions.create(model="assistant", messages=[{"role": "user", "content": content}])
    return answer.choices[0].message.content or ""


def wait_for(client: openai.OpenAI, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            client.models.list()
            return
        except openai.APIConnectionError:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
