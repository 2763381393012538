"""Disaggregated prefill: parameters are used once and in time, and every failure is answered without a transfer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import orjson
import pytest
from kv_servers import BLOCKS, Decoder, KvMemory, Prefiller

from sovctl.gateway.pipeline.transfer import Outgoing, answer_with_transfer
from sovctl.gateway.settings import Limits, RoutingSettings, UpstreamSettings
from sovctl.gateway.settings.traffic.prefill import PrefillSettings
from sovctl.gateway.telemetry.metrics import Metrics
from sovctl.gateway.upstream import Answer, Attempts, PrefillDecode, Upstream
from sovctl.gateway.upstream.prefill_decode import Transfer

OWN = "the balance of account A is nine " * 4
OTHER = "a secret of somebody else " * 4
CONVERSATION = "ab" * 32


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Prefiller, Decoder]]:
    with Prefiller() as prefiller, Decoder() as decoder:
        decoder.prefiller = prefiller
        yield prefiller, decoder


@pytest.fixture(autouse=True)
def fresh(servers: tuple[Prefiller, Decoder]) -> None:
    for each in servers:
        each.forget()
    servers[0].memory, servers[0].params = KvMemory(), {}


class Pair:
    """Both upstreams, and one request at a time through them."""

    def __init__(self, decode: Upstream, prefill: Upstream, settings: PrefillSettings) -> None:
        self.decode, self.metrics = decode, Metrics()
        self.pair = PrefillDecode(decode, prefill, settings, self.metrics)
        self.attempts = Attempts()

    async def ask(self, text: str = OWN, *, conversation: str = CONVERSATION, **more: Any) -> str:
        """Return the text of the answer, as the gateway serves it."""
        body = orjson.dumps({"model": "echo", "messages": [{"role": "user", "content": text}], **more})

        async def read(answer: Answer) -> str:
            try:
                whole = orjson.loads(await answer.read(at_most=1 << 20))
            finally:
                answer.release()
            return str(whole["choices"][0]["message"]["content"])

        outgoing = Outgoing("chat/completions", body, False, None, None, 9, None, self.attempts)
        answered = await answer_with_transfer(self.pair, self.decode, outgoing, read, conversation=conversation)
        if answered is None:
            answered = await read(await self.decode.post("chat/completions", body, is_stream=False))
        return answered

    def outcomes(self) -> dict[str, int]:
        """Return the counted outcomes."""
        return {labels[1]: int(count) for labels, count in self.metrics.kv_transfers.values.items()}


@asynccontextmanager
async def pair_of(servers: tuple[Prefiller, Decoder], *, lease_s: int = 60, **more: Any) -> AsyncIterator[Pair]:
    prefiller, decoder = servers
    prefiller.memory.lease_s = lease_s
    settings = PrefillSettings.model_construct(
        upstream="chat-prefill", min_uncached_tokens=24, kv_lease_s=lease_s, timeout_s=30.0, **more
    )

    def upstream(name: str, server: Any) -> Upstream:
        made = UpstreamSettings.model_validate(
            {"name": name, "kind": "pool", "base_urls": [server.base_url], "model": name, "down_s": 60}
        )
        return Upstream(made, Limits(), RoutingSettings())

    async with AsyncExitStack() as stack:
        decode = await stack.enter_async_context(upstream("chat", decoder))
        prefill = await stack.enter_async_context(upstream("chat-prefill", prefiller))
        yield Pair(decode, prefill, settings)


def run(servers: tuple[Prefiller, Decoder], *asked: dict[str, Any], lease_s: int = 60) -> tuple[list[str], Pair]:
    async def all_of_them() -> tuple[list[str], Pair]:
        async with pair_of(servers, lease_s=lease_s) as pair:
            return [await pair.ask(**each) for each in asked], pair

    return asyncio.run(all_of_them())


def test_a_long_prompt_is_prefilled_once_and_read_once(servers: tuple[Prefiller, Decoder]) -> None:
    prefiller, decoder = servers
    more = {"max_tokens": 7, "max_completion_tokens": 7, "min_tokens": 3, "cache_salt": "tenant"}
    answers, pair = run(servers, more)
    assert answers == [OWN]
    [first], [second] = prefiller.requests, decoder.requests
    assert (first["max_tokens"], first["max_completion_tokens"], first["stream"]) == (1, 1, False)
    assert "min_tokens" not in first
    assert first["kv_transfer_params"] == {"do_remote_decode": True, "do_remote_prefill": False}
    assert first["model"] == "chat-prefill"
    assert (second["max_tokens"], second["kv_transfer_params"]["remote_request_id"]) == (7, "chatcmpl-0")
    assert first["messages"] == second["messages"]
    assert pair.outcomes() == {"transferred": 1}
    assert pair.attempts.words() == ["chat-prefill/0:200", "chat/0:200"]
    assert (prefiller.memory.expired, prefiller.memory.after_expiry) == (0, 0)


def test_each_transfer_has_a_cache_salt_of_its_own(servers: tuple[Prefiller, Decoder]) -> None:
    prefiller, decoder = servers
    run(servers, {"cache_salt": "tenant"}, {"cache_salt": "tenant"})
    assert [each["cache_salt"] for each in prefiller.requests] == ["tenant", "tenant"]
    salts = {each["cache_salt"] for each in decoder.requests}
    assert len(salts) == 2
    assert "tenant" not in salts


@pytest.mark.parametrize(
    "asked",
    [
        {"text": "short"},
        {"n": 2},
        {"best_of": 3},
        {"use_beam_search": True},
        {"prompt_logprobs": 1},
        {"echo": True},
        {"truncate_prompt_tokens": -1},
    ],
)
def test_other_requests_go_straight_to_the_decoder(servers: tuple[Prefiller, Decoder], asked: dict[str, Any]) -> None:
    prefiller, decoder = servers
    answers, _ = run(servers, asked)
    assert answers == [asked.get("text", OWN)]
    assert not prefiller.requests
    assert not decoder.with_params()


def test_a_prompt_that_the_decoder_has_cached_is_not_transferred(servers: tuple[Prefiller, Decoder]) -> None:
    prefiller, _ = servers
    answers, pair = run(servers, {"n": 2}, {"text": OWN + "!"}, {"text": OWN * 2}, {"conversation": "cd" * 32})
    assert len(answers) == 4
    assert pair.outcomes() == {"not-transferable": 1, "short": 1, "transferred": 2}
    assert len(prefiller.requests) == 2


@pytest.mark.parametrize(
    "params",
    [
        {"remote_block_ids": []},
        {"remote_engine_id": None},
        {"remote_host": 7},
        {"remote_port": "5600"},
        {"do_remote_prefill": False},
    ],
)
def test_unusable_parameters_are_not_sent(servers: tuple[Prefiller, Decoder], params: dict[str, Any]) -> None:
    prefiller, decoder = servers
    prefiller.params = params
    answers, pair = run(servers, {})
    assert answers == [OWN]
    assert not decoder.with_params()
    assert pair.outcomes() == {"prefill-failed": 1}


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503])
def test_a_failing_prefiller_is_left_out(servers: tuple[Prefiller, Decoder], status: int) -> None:
    servers[0].script.status = status
    answers, pair = run(servers, {})
    assert answers == [OWN]
    assert pair.outcomes() == {"prefill-failed": 1}


def test_a_dead_prefiller_is_left_out_and_then_not_asked(servers: tuple[Prefiller, Decoder]) -> None:
    with Prefiller() as dead:
        pass
    answers, pair = run((dead, servers[1]), *[{}] * 3, *[{"conversation": "cd" * 32}] * 2)
    assert answers == [OWN] * 5
    assert pair.outcomes() == {"prefill-failed": 2, "short": 3}  # the decoder has the prompt cached then


def test_an_unknown_engine_is_answered_without_a_transfer_and_no_failure_of_the_decoder(
    servers: tuple[Prefiller, Decoder],
) -> None:
    prefiller, decoder = servers
    prefiller.params = {"remote_engine_id": "engine-before-the-restart"}
    asked = [{"conversation": f"{number:02x}" * 32} for number in range(8)]
    answers, pair = run(servers, *asked)
    assert answers == [OWN] * 8
    assert pair.outcomes() == {"decode-failed": 8}
    used = [each["kv_transfer_params"]["remote_request_id"] for each in decoder.with_params()]
    assert len(used) == len(set(used)) == 8


@pytest.mark.parametrize("status", [400, 429, 500, 503])
def test_a_retry_never_has_the_parameters(servers: tuple[Prefiller, Decoder], status: int) -> None:
    _, decoder = servers
    decoder.script.status = status
    with pytest.raises(Exception, match=r"status|rejected"):
        run(servers, {})
    assert len(decoder.with_params()) == 1
    assert len(decoder.requests) > 1


def test_the_prefill_ends_within_half_of_the_lease(servers: tuple[Prefiller, Decoder]) -> None:
    prefiller, decoder = servers
    prefiller.script.hold_answer = hold = threading.Event()
    answers, pair = run(servers, {}, lease_s=1)
    hold.set()
    assert answers == [OWN]
    assert not decoder.with_params()
    assert pair.outcomes() == {"prefill-failed": 1}


def test_parameters_are_taken_once_and_in_the_first_half_of_the_lease() -> None:
    transfer = Transfer(b"{}", asked_s=100, lease_s=10)
    assert transfer.ends_s == 110
    assert transfer.take(104.9) == b"{}"
    assert transfer.take(104.9) is None
    assert Transfer(b"{}", asked_s=100, lease_s=10).take(105.0) is None


def test_a_held_decode_is_dropped_and_not_answered_with_the_text_of_others(servers: tuple[Prefiller, Decoder]) -> None:
    """Prefill A, hold the gateway, others use the blocks, release: A gets its own text."""
    prefiller, decoder = servers

    async def held() -> tuple[str, Pair]:
        async with pair_of(servers, lease_s=1) as pair:
            usual = pair.pair.prefill

            async def prefill_and_hold(*arguments: Any, **options: Any) -> Transfer | None:
                transfer = await usual(*arguments, **options)
                await asyncio.sleep(1.1)
                for _ in range(3 * BLOCKS):
                    prefiller.memory.write(OTHER, None)
                return transfer

            pair.pair.prefill = prefill_and_hold  # type: ignore[method-assign]
            return await pair.ask(), pair

    answer, pair = asyncio.run(held())
    assert answer == OWN
    assert not decoder.with_params()
    assert pair.outcomes() == {"expired": 1}


def test_an_answer_that_begins_after_the_lease_is_discarded(servers: tuple[Prefiller, Decoder]) -> None:
    """The decoder itself is held: it reads after the lease, and its answer would be the text of others."""
    prefiller, decoder = servers
    decoder.script.hold_answer = hold = threading.Event()

    async def held() -> tuple[str, Pair]:
        async with pair_of(servers, lease_s=1) as pair:
            asked = asyncio.create_task(pair.ask())
            await asyncio.sleep(1.1)
            for _ in range(3 * BLOCKS):
                prefiller.memory.write(OTHER, None)
            hold.set()
            return await asked, pair

    answer, pair = asyncio.run(held())
    assert answer == OWN
    assert len(decoder.with_params()) == 1
    assert pair.outcomes() == {"late": 1}


def test_the_servers_of_this_test_leak_without_these_rules(servers: tuple[Prefiller, Decoder]) -> None:
    """Shows that the two tests above can fail: parameters used late give another request's text, with status 200."""
    prefiller, _ = servers

    async def late() -> str:
        async with pair_of(servers, lease_s=1) as pair:
            body = orjson.dumps({"model": "echo", "messages": [{"role": "user", "content": OWN}]})
            transfer = await pair.pair.prefill(
                "chat/completions", body, conversation=CONVERSATION, deadline_s=None, attempts=Attempts()
            )
            assert transfer is not None
            sent = transfer.take(0)
            assert sent is not None
            await asyncio.sleep(1.1)
            for _ in range(3 * BLOCKS):
                prefiller.memory.write(OTHER, None)
            answer = await pair.decode.post("chat/completions", sent, is_stream=False)
            whole = orjson.loads(await answer.read(at_most=1 << 20))
            answer.release()
            return str(whole["choices"][0]["message"]["content"])

    assert asyncio.run(late()) == OTHER
    assert prefiller.memory.after_expiry == 1
