"""A pool, a cloud or everything is down: what must stay is never sent out instead."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import openai
import pytest
import yaml
from echo_upstream import EchoUpstream
from fault_givens import IBAN, PROMPT, ask, code_of, locked_vault


@pytest.fixture(scope="module")
def without_pool(start: Callable[..., Any], pki: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A gateway whose pool does not answer; its breaker remembers that for a minute."""
    with EchoUpstream(pki.certificate_file, pki.key_file) as gone:
        pass
    return start(pool=gone, down_s=60)


def test_with_the_pool_down_what_must_stay_is_refused_and_never_sent_out(
    without_pool: Any, cloud: EchoUpstream
) -> None:
    for content in ("Dear Mr. Ola Nordmann, hello", "Добрый день"):
        for stream in (False, True):
            with pytest.raises(openai.InternalServerError) as caught:
                ask(without_pool, content, stream=stream)
            assert (caught.value.status_code, code_of(caught)) == (503, "pool_unavailable")
    with locked_vault(without_pool):
        with pytest.raises(openai.InternalServerError) as caught:
            ask(without_pool)
        assert code_of(caught) == "pool_unavailable"
    assert not cloud.requests
    status, _, body = without_pool.request("GET", "/readyz")
    wrong = json.loads(body)["wrong"]
    assert (status, wrong["upstream:chat"]) == (503, "doesn't answer")
    assert wrong["routes"] == "no upstream for inside"


def test_with_the_pool_down_what_may_leave_goes_to_the_cloud(without_pool: Any, cloud: EchoUpstream) -> None:
    answer = ask(without_pool, model="careful")  # prefers the pool
    assert answer.headers["x-sovctl-route"] == "cloud"
    assert answer.parse().choices[0].message.content == PROMPT
    assert IBAN.encode() not in cloud.raw[0]
    for _ in range(3):
        ask(without_pool, model="careful")
    asked = [record for record in without_pool.records() if record["type"] == "gateway.request"][-1]
    assert "down:chat" in asked["reasons"]
    assert asked["upstream"] == "sovereign-cloud"


def test_with_everything_down_the_client_is_told(without_pool: Any, cloud: EchoUpstream) -> None:
    cloud.script.status = 503
    with pytest.raises(openai.InternalServerError) as caught:
        ask(without_pool)
    assert (caught.value.status_code, code_of(caught)) == (502, "upstream_failed")
    last = without_pool.records()[-1]
    assert (last["type"], last["status"], last["reason"]) == ("gateway.answer", 502, "upstream_failed")


def test_upstream_with_untrusted_certificate_gets_no_request(
    start: Callable[..., Any], pki: Any, pool: EchoUpstream, cloud: EchoUpstream
) -> None:
    config = yaml.safe_load(start().config.read_text())
    upstreams = config["upstreams"]
    upstreams[1]["ca_file"] = None  # the system's authorities do not know our cloud
    del upstreams[0]["certificate_file"], upstreams[0]["key_file"]  # and the pool wants to know us
    gateway = start(upstreams=upstreams)
    with pytest.raises(openai.InternalServerError) as caught:
        ask(gateway)
    assert code_of(caught) == "upstream_failed"
    assert not pool.requests
    assert not cloud.requests


def test_what_a_firewall_refuses_goes_to_the_pool_and_is_no_word_about_the_key(
    start: Callable[..., Any], pool: EchoUpstream, cloud: EchoUpstream
) -> None:
    gateway = start(down_s=60)
    pool.script.status = 403
    with pytest.raises(openai.InternalServerError) as refused:  # it never answered, and says so as an API
        ask(gateway, model="inside")
    assert code_of(refused) == "upstream_misconfigured"
    pool.script.status = 200
    ask(gateway)
    cloud.script.status = 403
    assert ask(gateway).headers["x-sovctl-route"] == "pool"
    pool.script.status = 403
    with pytest.raises(openai.PermissionDeniedError) as blocked:
        ask(gateway, model="inside")
    assert code_of(blocked) == "upstream_blocked"
    assert gateway.records()[-1]["attempts"] == ["chat/0:blocked"]
    assert gateway.log().count('"event": "upstream blocked"') == 2
    pool.script.status = cloud.script.status = 200
    assert ask(gateway).headers["x-sovctl-route"] == "cloud"  # its circuit was never open


def test_configuration_errors_are_not_retried(
    start: Callable[..., Any], pool: EchoUpstream, cloud: EchoUpstream
) -> None:
    gateway = start(down_s=60)
    pool.script.status, cloud.script.status = 404, 401
    client = gateway.client().with_options(max_retries=2)
    for stream in (False, True, False, True):
        with pytest.raises(openai.InternalServerError) as caught:
            client.chat.completions.create(
                model="assistant", messages=[{"role": "user", "content": PROMPT}], stream=stream
            )
        assert (caught.value.status_code, code_of(caught)) == (502, "upstream_misconfigured")
        assert "try again" not in str(caught.value)
    assert (len(pool.requests), len(cloud.requests)) == (4, 3)  # a circuit that is open says why as well
    log = gateway.log()
    assert log.count('"refusal": "lacks the API or model: status-404"') == 4
    assert log.count('"refusal": "rejects the gateway key: status-401"') == 4
    wrong = json.loads(gateway.request("GET", "/readyz")[2])["wrong"]
    assert wrong["upstream:sovereign-cloud"] == "rejects the gateway key: status-401"

    with pytest.raises(openai.InternalServerError) as caught:
        ask(gateway, "Dear Mr. Ola Nordmann, hello")
    assert code_of(caught) == "upstream_misconfigured"
    assert caught.value.body["sovctl"]["reasons"]  # type: ignore[index]
    cloud.script.status = 503
    with pytest.raises(openai.InternalServerError) as caught:  # this may pass, so trying again is right
        ask(start(), "Which day is it?")
    assert code_of(caught) == "upstream_failed"
    pool.script.status = 200  # its circuit is closed
    assert ask(gateway).parse().choices[0].message.content == PROMPT
