"""A disk that is full: no durable record, no answer; no durable value, nothing leaves."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Any

import openai
import pytest
from echo_upstream import EchoUpstream
from fault_givens import IBAN, MAIL, PROMPT, ask, code_of, fill_disk, free_disk, full_disk, locked_vault
from loopback_gateway import running_gateway, say, write_loopback_config


def test_without_a_durable_record_nothing_is_sent_and_nothing_answered(
    gateway: Any, pool: EchoUpstream, cloud: EchoUpstream
) -> None:
    ask(gateway)
    cloud.forget()
    with full_disk(gateway):
        for model in ("assistant", "inside"):
            for stream in (False, True):
                with pytest.raises(openai.InternalServerError) as caught:
                    ask(gateway, model=model, stream=stream)
                assert (caught.value.status_code, code_of(caught)) == (503, "audit_unavailable")
        status, _, body = gateway.request("GET", "/readyz")
        assert status == 503
        assert "ledger" in json.loads(body)["wrong"] or "vault" in json.loads(body)["wrong"]
    assert not pool.requests
    assert not cloud.requests
    assert ask(gateway).parse().choices[0].message.content == PROMPT  # the disk has room again


def test_an_answer_whose_end_cannot_be_recorded_is_not_given(gateway: Any, pool: EchoUpstream) -> None:
    def fill_and_answer(body: dict[str, Any]) -> dict[str, Any]:
        fill_disk(gateway)
        return {"role": "assistant", "content": body["messages"][-1]["content"]}

    try:
        pool.script.message = fill_and_answer
        with pytest.raises(openai.InternalServerError) as caught:
            ask(gateway, model="inside")
        assert code_of(caught) == "audit_unavailable"
        assert IBAN not in str(caught.value)
        free_disk(gateway)
        with pytest.raises(openai.APIError) as broken:
            list(ask(gateway, model="inside", stream=True).parse())
        assert code_of(broken) == "audit_unavailable"
    finally:
        free_disk(gateway)


def test_with_the_vault_down_nothing_leaves_and_the_pool_answers(
    gateway: Any, pool: EchoUpstream, cloud: EchoUpstream
) -> None:
    with locked_vault(gateway):
        answer = ask(gateway)
        assert answer.headers["x-sovctl-route"] == "pool"
        assert answer.parse().choices[0].message.content == PROMPT
        assert "vault" in json.loads(gateway.request("GET", "/readyz")[2])["wrong"]
    assert not cloud.requests
    asked, instead, answered = gateway.records()[-3:]  # the record of where it was to go was written meanwhile
    assert [each["type"].removeprefix("gateway.") for each in (asked, instead, answered)] == [
        "request",
        "fallback",
        "answer",
    ]
    assert asked["upstream"] != instead["upstream"] == answered["upstream"]
    assert "vault-failed" in instead["reasons"]
    assert [each.partition("/")[0] for each in answered["attempts"]] == [instead["upstream"]]
    assert ask(gateway).headers["x-sovctl-route"] == "cloud"


def test_with_the_vault_down_and_no_pool_the_client_is_told_which_part_it_is(tmp_path: Path) -> None:
    route = {"model": "assistant", "cloud": "cloud", "prefer": "cloud"}
    with EchoUpstream() as outside:
        config = write_loopback_config(tmp_path, cloud_port=outside.port, routes=[route])
        with running_gateway(config) as gateway:
            with locked_vault(gateway):
                status, _, body = gateway.post(say(PROMPT))
            assert (status, json.loads(body)["error"]["code"]) == (503, "vault_unavailable")
            assert not outside.requests
            assert (gateway.records()[-1]["reason"], gateway.records()[-1]["attempts"]) == ("vault_unavailable", [])
            assert gateway.post(say(PROMPT))[0] == 200


def test_with_the_vault_s_disk_full_nothing_leaves_and_the_pool_answers(tmp_path: Path) -> None:
    with EchoUpstream() as inside, EchoUpstream() as outside:
        config = write_loopback_config(tmp_path, cloud_port=outside.port, pool_port=inside.port)
        with running_gateway(config) as gateway:
            assert gateway.post(say(PROMPT))[1]["x-sovctl-route"] == "cloud"
            outside.forget()
            # No file may grow beyond the vault's largest; the ledger's are smaller, and have room.
            largest = max(path.stat().st_size for path in (tmp_path / "vault").iterdir())
            assert (tmp_path / "ledger/entries").stat().st_size < largest // 2
            limit(gateway.process.pid, largest)
            answers = [gateway.post(say(f"{PROMPT} And to customer-{number}@example.com.")) for number in range(8)]
            assert [status for status, _, _ in answers] == [200] * 8
            # What fitted into the log that was there may have left; what did not fit stays, and says why.
            assert answers[-1][1]["x-sovctl-route"] == "pool"
            assert MAIL.encode() not in b"".join(outside.raw)
            assert "vault-failed" in gateway.records()[-2]["reasons"]
            limit(gateway.process.pid, resource.RLIM_INFINITY)
            assert gateway.post(say(PROMPT))[1]["x-sovctl-route"] == "cloud"


def limit(pid: int, size_bytes: int) -> None:
    """No file of this process may grow beyond that."""
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size_bytes, resource.RLIM_INFINITY))
