"""A gateway whose pool takes a second look: over real HTTP, never by a cloud, and no answer keeps the request here."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from echo_upstream import EchoUpstream, Script, echo
from loopback_gateway import LoopbackGateway, running_gateway, say, write_loopback_config
from waiting import until

from sovctl.gateway.commands.main import main
from sovctl.gateway.detect import make_detector
from sovctl.gateway.settings import DetectSettings, check_settings
from sovctl.support.errors import SpecError

PROMPT = "please ask what Tasmagambetova said about the loan, and write it down"  # invented
NAME = "Tasmagambetova"


def sees(*names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A chat model that lists these when it is asked for names, and repeats anything else."""

    def message(body: dict[str, Any]) -> dict[str, Any]:
        if "response_format" not in body:
            return echo(body)
        return {"role": "assistant", "content": json.dumps({"names": list(names)})}

    return message


@pytest.fixture(name="sides", scope="module")
def sides_fixture() -> Iterator[tuple[EchoUpstream, EchoUpstream]]:
    with EchoUpstream() as pool, EchoUpstream() as cloud:
        yield pool, cloud


@pytest.fixture(autouse=True)
def _fresh(sides: tuple[EchoUpstream, EchoUpstream]) -> None:
    for side in sides:
        side.forget()


def configured(folder: Path, sides: tuple[EchoUpstream, EchoUpstream], **look: Any) -> Path:
    pool, cloud = sides
    llm_review = {"upstream": "chat", "model": "reader", "timeout_s": 20, **look}
    return write_loopback_config(folder, cloud_port=cloud.port, pool_port=pool.port, detect={"llm_review": llm_review})


@pytest.fixture(name="gateway", scope="module")
def gateway_fixture(
    tmp_path_factory: pytest.TempPathFactory, sides: tuple[EchoUpstream, EchoUpstream]
) -> Iterator[LoopbackGateway]:
    with running_gateway(configured(tmp_path_factory.mktemp("look"), sides)) as gateway:
        yield gateway


def last_request(gateway: LoopbackGateway) -> dict[str, Any]:
    return [record for record in gateway.records() if record["type"] == "gateway.request"][-1]


def test_a_name_that_only_the_pool_saw_leaves_as_a_token_and_comes_back(
    gateway: LoopbackGateway, sides: tuple[EchoUpstream, EchoUpstream]
) -> None:
    assert not make_detector(DetectSettings()).find(PROMPT)
    pool, cloud = sides
    pool.script = Script(message=sees(NAME, "Nobody Who Stands There"))
    text = f"{PROMPT} (the first to ask that)"
    status, headers, answer = gateway.post(say(text))
    assert (status, headers["x-sovctl-route"]) == (200, "cloud")
    assert json.loads(answer)["choices"][0]["message"]["content"] == text
    assert NAME not in cloud.raw[-1].decode()
    assert "PERSON_" in cloud.requests[-1]["messages"][0]["content"]
    [question] = pool.requests
    assert question["model"] == "reader"
    assert question["messages"][1]["content"] == text
    assert len(question["cache_salt"]) == 43
    record = last_request(gateway)
    assert record["looked_by"] == ["llm-review"]
    assert record["entity_types"] == {"PERSON": 1}


def test_nobody_is_asked_where_no_name_could_be(
    gateway: LoopbackGateway, sides: tuple[EchoUpstream, EchoUpstream]
) -> None:
    status, headers, _ = gateway.post(say("please say what was written about the loan"))
    assert (status, headers["x-sovctl-route"]) == (200, "cloud")
    assert not sides[0].requests
    assert "looked_by" not in last_request(gateway)


def test_a_text_without_names_is_asked_about_once(
    gateway: LoopbackGateway, sides: tuple[EchoUpstream, EchoUpstream]
) -> None:
    pool, _ = sides
    pool.script = Script(message=sees())
    for _ in range(2):
        status, headers, _ = gateway.post(say("please say what the Wolkenkuckucksheim is like in the winter"))
        assert (status, headers["x-sovctl-route"]) == (200, "cloud")
        assert last_request(gateway)["looked_by"] == ["llm-review"]
    assert len(pool.requests) == 1


def test_our_own_tokens_are_nobodys_name_and_hide_none_beside_them(
    gateway: LoopbackGateway, sides: tuple[EchoUpstream, EchoUpstream]
) -> None:
    pool, cloud = sides
    pool.script = Script(message=sees(NAME))
    gateway.post(say(PROMPT))
    token = cloud.requests[-1]["messages"][0]["content"].split()[3]
    pool.script = Script(message=sees(token, NAME))
    text = f"please say why {token} wrote to {NAME} again about the loan, and what we should answer"
    status, _, answer = gateway.post(say(text))
    assert status == 200
    assert json.loads(answer)["choices"][0]["message"]["content"] == text
    assert last_request(gateway)["entity_types"] == {"PERSON": 1}
    pool.script = Script(message=sees(f"{token} {NAME}"))
    gateway.post(say(f"please say why {token} {NAME} wrote to us again about the loan"))
    assert NAME not in cloud.raw[-1].decode()


FAILURES = {
    "an error": (Script(status=500), "status-500"),
    "no list": (Script(message=lambda _: {"role": "assistant", "content": "There are none."}), "no-list"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_no_answer_keeps_the_request_on_prem(
    gateway: LoopbackGateway, sides: tuple[EchoUpstream, EchoUpstream], failure: str
) -> None:
    pool, cloud = sides
    pool.script, cause = FAILURES[failure]
    gateway.post(say(f"{PROMPT} ({failure})"))
    stays_for(cause, gateway, cloud)


def test_readyz_says_that_the_look_fails_until_it_answers_again(
    gateway: LoopbackGateway, sides: tuple[EchoUpstream, EchoUpstream]
) -> None:
    pool, _ = sides
    pool.script = Script(message=lambda _: {"role": "assistant", "content": "There are none."})
    gateway.post(say(f"{PROMPT} (readyz)"))
    status, told = gateway.get("/readyz")
    assert (status, json.loads(told)["wrong"]) == (200, {"finder:llm-review": "failed when last asked: no-list"})
    pool.script = Script(message=sees(NAME))
    gateway.post(say(f"{PROMPT} (readyz)"))
    assert json.loads(gateway.get("/readyz")[1])["wrong"] == {}


def test_a_request_waits_for_the_look_no_longer_than_its_client_does(
    gateway: LoopbackGateway, sides: tuple[EchoUpstream, EchoUpstream]
) -> None:
    pool, cloud = sides
    pool.script = Script(message=sees(NAME))
    gateway.post(say(f"{PROMPT} (before)"))
    cloud.forget()
    hold = threading.Event()
    pool.script = Script(message=sees(NAME), hold_answer=hold)
    numbers = itertools.count()

    def reasons() -> list[str]:
        asked = len(pool.requests)
        text = f"{PROMPT} (in time, {next(numbers)})"
        status, _, answer = gateway.post(say(text), headers={"x-request-timeout": "0.3"})
        assert (status, json.loads(answer)["error"]["code"]) == (504, "deadline_exceeded")
        return list(last_request(gateway)["reasons"]) if len(pool.requests) > asked else []

    try:
        # On a busy machine the time may be over before anybody is asked.
        assert until(reasons, "the pool is asked in time") == ["detector-failed:llm-review"]
    finally:
        hold.set()  # only now, and the client has its answer
    assert not cloud.requests
    assert json.loads(gateway.get("/readyz")[1])["wrong"] == {}  # the looker may be well


def test_no_answer_in_time_keeps_the_request_on_prem(tmp_path: Path, sides: tuple[EchoUpstream, EchoUpstream]) -> None:
    pool, cloud = sides
    hold = threading.Event()
    pool.script = Script(hold_answer=hold)
    with running_gateway(configured(tmp_path, sides, timeout_s=0.2)) as gateway, ThreadPoolExecutor(1) as aside:
        asked = aside.submit(gateway.post, say(PROMPT))
        until(lambda: "timeout" in gateway.log(), "the second look is given up")
        hold.set()
        assert asked.result()[0] == 200
        stays_for("timeout", gateway, cloud)


def stays_for(cause: str, gateway: LoopbackGateway, cloud: EchoUpstream) -> None:
    """The last request stayed, as the second look failed for this cause."""
    assert not cloud.requests
    record = last_request(gateway)
    assert record["reasons"][0] == "detector-failed:llm-review"
    assert record["upstream"] == "chat"
    assert f'"cause": "{cause}"' in gateway.log() or f'"cause":"{cause}"' in gateway.log()
    assert NAME not in gateway.log()


def test_a_pool_that_is_not_there_keeps_the_request_here_unanswered(
    tmp_path: Path, sides: tuple[EchoUpstream, EchoUpstream]
) -> None:
    _, cloud = sides
    config = write_loopback_config(tmp_path, cloud_port=cloud.port, detect={"llm_review": {"upstream": "chat"}})
    with running_gateway(config) as gateway:
        assert gateway.post(say(PROMPT))[0] == 503
        assert not cloud.requests
        assert last_request(gateway)["reasons"][0] == "detector-failed:llm-review"


def test_a_request_longer_than_allowed_stays(tmp_path: Path, sides: tuple[EchoUpstream, EchoUpstream]) -> None:
    pool, cloud = sides
    pool.script = Script(message=sees())
    with running_gateway(configured(tmp_path, sides, max_chars=100, when="always")) as gateway:
        gateway.post(say("please write this down " * 10))
        assert not cloud.requests
        assert last_request(gateway)["reasons"] == ["detector-failed:llm-review"]


@pytest.mark.parametrize(
    ("changes", "got"),
    [
        ({"upstream": "cloud"}, "got cloud, which must not receive raw text"),
        ({"upstream": "nobody"}, "got no such upstream"),
    ],
)
def test_settings_never_let_a_cloud_look(
    tmp_path: Path, sides: tuple[EchoUpstream, EchoUpstream], changes: dict[str, Any], got: str
) -> None:
    settings = yaml.safe_load(configured(tmp_path, sides, **changes).read_text())
    with pytest.raises(SpecError) as caught:
        check_settings(settings, tmp_path)
    [problem] = caught.value.problems
    assert problem.where.endswith("detect.llm_review.upstream")
    assert got in problem.message


def test_explain_says_who_would_be_asked_and_asks_nobody(
    gateway: LoopbackGateway,
    sides: tuple[EchoUpstream, EchoUpstream],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "request.json").write_text(json.dumps(say(PROMPT)))
    assert main(["explain", str(tmp_path / "request.json"), "--config", str(gateway.config), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["not_asked"] == ["llm-review"]
    assert not sides[0].requests
