"""Weighted groups and fallback routes in a running gateway, between a client and capturing upstreams."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import openai
import pytest
import yaml
from echo_upstream import EchoUpstream
from surface_givens import IBAN, PROMPT, assert_clean, audited

from sovctl.gateway.commands.explain import explain
from sovctl.gateway.settings import check_settings, load_settings
from sovctl.support.errors import SpecError

AUDITOR = "test-key-of-another-tenant"
TOO_LONG = "This is about the maximum context length of a model."
"""The upstream repeats the request in its error, which then reads like one of vLLM."""


class Place:
    """A gateway with two pools and two clouds."""

    def __init__(self, gateway: Any, upstreams: dict[str, EchoUpstream]) -> None:
        self.gateway, self.upstreams = gateway, upstreams

    def ask(self, content: str = "Hello and thank you", model: str = "assistant", **more: Any) -> Any:
        messages = [{"role": "user", "content": content}]
        return self.gateway.client().chat.completions.with_raw_response.create(model=model, messages=messages, **more)

    def asked(self) -> dict[str, int]:
        return {name: len(each.requests) for name, each in self.upstreams.items() if each.requests}

    def records(self, kind: str) -> list[dict[str, Any]]:
        return [record for record in self.gateway.records() if record["type"] == kind]


@pytest.fixture
def place(
    pki: Any,
    pool: EchoUpstream,
    cloud: EchoUpstream,
    write_config: Callable[[Path], Path],
    start_from: Callable[..., Any],
    tmp_path: Path,
) -> Iterator[Callable[..., Place]]:
    with ExitStack() as stack:
        big = stack.enter_context(EchoUpstream(pki.certificate_file, pki.key_file, client_ca_file=pki.ca_file))
        other = stack.enter_context(EchoUpstream(pki.certificate_file, pki.key_file))

        def start(change: Callable[[dict[str, Any]], None]) -> Place:
            config = write_config(tmp_path)
            settings = yaml.safe_load(config.read_text())
            chat, sovereign = settings["upstreams"]
            settings["upstreams"] += [
                {**chat, "name": "big", "base_urls": [big.base_url], "max_model_len": 9000},
                {**sovereign, "name": "other-cloud", "base_urls": [other.base_url]},
            ]
            settings["routes"] += [
                {"model": "large", "pool": "big"},
                {"model": "elsewhere", "pool": "big", "cloud": "other-cloud", "prefer": "cloud"},
            ]
            change(settings)
            config.write_text(yaml.safe_dump(settings))
            upstreams = {"chat": pool, "sovereign-cloud": cloud, "big": big, "other-cloud": other}
            return Place(start_from(config, tmp_path / "log"), upstreams)

        yield start


def route(settings: dict[str, Any], model: str) -> dict[str, Any]:
    return next(each for each in settings["routes"] if each["model"] == model)


def in_two_clouds(settings: dict[str, Any]) -> None:
    group = [{"name": "sovereign-cloud", "weight": 3}, {"name": "other-cloud"}]
    route(settings, "assistant").update(fallbacks=["other-cloud"], groups=[group])


def test_conversations_are_shared_by_weight_and_each_keeps_its_cloud(place: Callable[..., Place]) -> None:
    there = place(in_two_clouds)
    seen = {}
    for number in range(40):
        headers = {"x-sovctl-conversation": f"talk-{number}"}
        there.ask(f"First of {number}", extra_headers=headers)
        seen[number] = audited(there.gateway)["upstream"]
    counts = there.asked()
    assert set(counts) == {"sovereign-cloud", "other-cloud"}
    assert counts["sovereign-cloud"] > counts["other-cloud"]
    for number in range(0, 40, 5):
        there.ask(f"Second of {number}", extra_headers={"x-sovctl-conversation": f"talk-{number}"})
        record = audited(there.gateway)
        assert record["upstream"] == seen[number]
        assert f"weighted:{seen[number]}" in record["reasons"]


def test_a_broken_upstream_of_a_group_is_replaced_by_the_other(place: Callable[..., Place]) -> None:
    there = place(in_two_clouds)
    there.upstreams["sovereign-cloud"].script.status = 500
    for number in range(8):
        assert there.ask(f"Hello {number}").headers["x-sovctl-route"] == "cloud"
    assert there.asked()["other-cloud"] == 8


def test_what_must_stay_leaves_by_no_weight_and_by_no_fallback(place: Callable[..., Place]) -> None:
    def change(settings: dict[str, Any]) -> None:
        in_two_clouds(settings)
        mixed = [{"name": "chat"}, {"name": "sovereign-cloud", "weight": 1000}]
        route(settings, "careful").update(groups=[mixed], fallback_routes=["elsewhere"])
        route(settings, "inside").update(fallback_routes=["elsewhere"])

    there = place(change)
    there.upstreams["chat"].script.status = 500
    person = "My colleague is Dr. Anna Kowalska, born 1980-01-02."
    with pytest.raises(openai.APIStatusError):
        there.ask(person)
    for model in ("careful", "inside"):
        assert there.ask(person, model).headers["x-sovctl-route"] == "pool"
    assert set(there.asked()) == {"chat", "big"}
    for number in range(10):  # a route without a cloud keeps everything
        there.ask(f"Hello {number}", "inside")
    assert set(there.asked()) == {"chat", "big"}


def test_a_fallback_route_serves_when_the_own_upstreams_fail(place: Callable[..., Place]) -> None:
    there = place(lambda settings: route(settings, "assistant").update(fallback_routes=["elsewhere"]))
    there.upstreams["sovereign-cloud"].script.status = 500
    there.upstreams["chat"].script.status = 500
    answer = there.ask(PROMPT)
    assert answer.headers["x-sovctl-route"] == "cloud"
    parsed = answer.parse()
    assert parsed.model == "assistant"
    assert IBAN in parsed.choices[0].message.content
    assert_clean(there.upstreams["other-cloud"])
    assert "fallback_route" not in audited(there.gateway)
    assert [each.get("fallback_route") for each in there.records("gateway.fallback")] == [None, "elsewhere"]
    assert there.records("gateway.answer")[-1]["fallback_route"] == "elsewhere"
    assert "fallback-route:elsewhere" in audited(there.gateway)["reasons"]


def test_a_request_too_long_for_the_route_goes_to_its_fallback_route(place: Callable[..., Place]) -> None:
    there = place(lambda settings: route(settings, "inside").update(fallback_routes=["large"], fallback_on=["context"]))
    there.upstreams["chat"].script.status = 400
    answer = there.ask(TOO_LONG, "inside")
    assert answer.parse().model == "inside"
    assert there.asked() == {"chat": 1, "big": 1}
    there.upstreams["chat"].script.status = 500
    with pytest.raises(openai.APIStatusError):  # only `context` is listed
        there.ask(model="inside")
    assert there.asked()["big"] == 1


def test_the_stricter_of_both_policies_applies(place: Callable[..., Place]) -> None:
    def change(settings: dict[str, Any]) -> None:
        route(settings, "assistant").update(fallback_routes=["elsewhere", "large"])
        settings["policy"]["rules"] = [
            {"entity_types": ["IBAN"], "routes": ["elsewhere"], "action": "mask"},
            {"entity_types": ["CARD"], "routes": ["elsewhere"], "action": "block"},
        ]

    there = place(change)
    for name in ("chat", "sovereign-cloud"):
        there.upstreams[name].script.status = 500
    there.ask(f"Please confirm the transfer to {IBAN}.")
    assert there.asked()["other-cloud"] == 1
    assert b"[IBAN]" in there.upstreams["other-cloud"].raw[0]
    assert b"IBAN_" in there.upstreams["sovereign-cloud"].raw[0]  # its own route only
    there.ask("Please charge card 4111 1111 1111 1111.")
    assert there.asked()["other-cloud"] == 1
    assert there.asked()["big"] == 1
    assert "fallback-blocked:elsewhere" in audited(there.gateway)["reasons"]


def test_a_route_that_a_client_may_not_use_is_no_fallback_for_it(place: Callable[..., Place]) -> None:
    there = place(lambda settings: route(settings, "inside").update(fallback_routes=["large"]))
    there.upstreams["chat"].script.status = 500
    there.ask(model="inside")
    with pytest.raises(openai.APIStatusError):  # this client is limited to `inside`
        there.gateway.client(AUDITOR).chat.completions.create(
            model="inside", messages=[{"role": "user", "content": "Hello"}]
        )
    assert there.asked()["big"] == 1
    assert "fallback-not-allowed:large" in audited(there.gateway)["reasons"]


def test_settings_under_which_a_fallback_route_would_be_less_strict_are_rejected(
    write_config: Callable[[Path], Path], tmp_path: Path
) -> None:
    settings = yaml.safe_load(write_config(tmp_path).read_text())
    own = route(settings, "assistant")
    own.update(fallback_routes=["careful"], media_hosts=["media.bank.example"])
    route(settings, "careful").update(release={"identifiers": {"default": "mask"}})
    screen = {"name": "s", "kind": "onnx", "path": "/x", "sha256": "0" * 64, "labels": {"INJECTION": 0.9}}
    settings["detect"] = {"screens": [{**screen, "action": "allow", "routes": {"careful": "block"}}]}
    settings["detect"]["model_packages"] = "/y"
    with pytest.raises(SpecError) as caught:
        check_settings(settings, tmp_path / "gateway.yaml")
    told = " ".join(problem.message for problem in caught.value.problems)
    for part in ("media hosts media.bank.example", "action of screen s", "same `release` as careful"):
        assert part in told
    own.update(fallback_routes=["assistant", "nothing"])
    with pytest.raises(SpecError, match="2 problems"):
        check_settings(settings, tmp_path / "gateway.yaml")


def test_explain_shows_weights_and_fallback_routes(place: Callable[..., Place], tmp_path: Path) -> None:
    def change(settings: dict[str, Any]) -> None:
        in_two_clouds(settings)
        route(settings, "assistant").update(fallback_routes=["large"])

    there = place(change)
    request = tmp_path / "request.json"
    request.write_text(
        json.dumps({"model": "assistant", "messages": [{"role": "user", "content": "Hello and thank you"}]})
    )
    told = explain(load_settings(there.gateway.config), request, client="branch", path="/v1/chat/completions")
    by_name = {each["name"]: each for each in told["candidates"]}
    assert [by_name[name].get("weight") for name in ("sovereign-cloud", "other-cloud", "chat")] == [3, 1, None]
    assert by_name["big"]["fallback_route"] == "large"
    assert told["upstreams"][-1] == "big"
    assert [each["reasons"] for each in by_name.values()] == [[], [], [], []]
