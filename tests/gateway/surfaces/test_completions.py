"""Completions: prompts in every form, whole and streamed, with the real client."""

from __future__ import annotations

from typing import Any

import pytest
from surface_givens import PROMPT, SPECIMENS, assert_clean, audited, post
from surface_upstream import SurfaceUpstream


def test_a_prompt_leaves_as_tokens_and_comes_back_as_it_was(gateway: Any, cloud: SurfaceUpstream) -> None:
    answer = gateway.client().completions.with_raw_response.create(model="assistant", prompt=PROMPT, logprobs=1)
    assert answer.headers["x-sovctl-route"] == "cloud"
    completion = answer.parse()
    assert completion.choices[0].text == PROMPT
    assert completion.choices[0].logprobs.tokens == ["a"]
    assert completion.model == "assistant"
    assert_clean(cloud)


def test_every_prompt_of_a_list_and_the_suffix_are_restored(gateway: Any, cloud: SurfaceUpstream) -> None:
    suffix = f" Please also mention {SPECIMENS[1]}"
    completion = gateway.client().completions.create(
        model="assistant", prompt=[PROMPT, "Please write a short letter"], suffix=suffix, echo=True
    )
    assert [choice.text for choice in completion.choices] == [PROMPT + suffix, "Please write a short letter" + suffix]
    assert_clean(cloud)


@pytest.mark.parametrize("piece_bytes", [1, 7, 5000])
def test_a_stream_comes_back_whole_choice_by_choice(gateway: Any, cloud: SurfaceUpstream, piece_bytes: int) -> None:
    cloud.script.piece_bytes = piece_bytes
    prompts = [PROMPT, f"Please repeat that twice: {SPECIMENS[0]}"]
    texts = ["", ""]
    chunks = list(
        gateway.client().completions.create(
            model="assistant", prompt=prompts, stream=True, stream_options={"include_usage": True}
        )
    )
    for chunk in chunks:
        for choice in chunk.choices:
            texts[choice.index] += choice.text
    assert texts == prompts
    assert {chunk.model for chunk in chunks} == {"assistant"}
    assert chunks[-1].usage.total_tokens == 3
    assert_clean(cloud)


@pytest.mark.parametrize("prompt", [[1, 2, 3], [[1, 2], [3]]])
def test_token_ids_cannot_be_read_and_stay_on_prem(
    gateway: Any, pool: SurfaceUpstream, cloud: SurfaceUpstream, prompt: Any
) -> None:
    status, headers, _ = post(gateway, "/v1/completions", {"model": "assistant", "prompt": prompt})
    assert (status, headers["x-sovctl-route"]) == (200, "pool")
    assert not cloud.requests
    assert pool.requests[0]["prompt"] == prompt
    assert "obstacle:token-ids" in audited(gateway)["reasons"]


def test_a_prompt_is_needed(gateway: Any, pool: SurfaceUpstream) -> None:
    status, _, answer = post(gateway, "/v1/completions", {"model": "assistant"})
    assert (status, answer["error"]["code"]) == (400, "invalid_request")
    assert not pool.requests
