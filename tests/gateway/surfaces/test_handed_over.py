"""An answer that goes to a person, as the real clients of each API see it: whole, as a stream, and cut off in one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import anthropic
import openai
import pytest
from surface_givens import API_KEY

from sovctl.gateway.surfaces import SURFACES
from sovctl.gateway.surfaces.answers.replacement_answer import ReplacementAnswer

PHRASES = "insider trading\n"
GOOD, BAD = "This is a good sentence. ", "Now we turn to insider trading."
TEXT = "A person looks at this answer."
PROMPTS = {"at once": BAD, "midway": GOOD + BAD}


@pytest.fixture(name="manned", scope="module")
def manned_fixture(start: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    phrases = tmp_path_factory.mktemp("lists") / "topics"
    phrases.write_text(PHRASES)
    digest = hashlib.sha256(PHRASES.encode()).hexdigest()
    release = {"forbidden": [{"name": "topics", "file": str(phrases), "sha256": digest}]}
    ways = {"pool": "chat", "cloud": "sovereign-cloud", "prefer": "cloud"}
    return start(routes=[{"model": "assistant", **ways, "release": release}], handoff={"texts": {"en": TEXT}})


def claude(gateway: Any) -> anthropic.Anthropic:
    return anthropic.Anthropic(
        api_key=API_KEY,
        base_url=f"https://127.0.0.1:{gateway.port}",
        max_retries=0,
        http_client=anthropic.DefaultHttpxClient(verify=gateway.tls),
    )


def is_known(gateway: Any, mark: Any) -> bool:
    """The id leads to a hand-off."""
    headers = {"authorization": f"Bearer {API_KEY}"}
    status, _, body = gateway.request("GET", f"/v1/handoffs/{mark['handoff_id']}", headers=headers)
    return bool(status == 200 and json.loads(body)["state"] == "waiting")


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS)
def test_chat(manned: Any, prompt: str, count: int) -> None:
    ask = manned.client().chat.completions
    messages: Any = [{"role": "user", "content": prompt}]
    whole = ask.create(model="assistant", messages=messages, n=count)
    assert [choice.message.content for choice in whole.choices] == [TEXT] * count
    assert {choice.finish_reason for choice in whole.choices} == {"content_filter"}
    assert is_known(manned, whole.model_dump()["sovctl"])
    said, ended = [""] * count, set()
    for chunk in ask.create(model="assistant", messages=messages, n=count, stream=True):
        for choice in chunk.choices:
            said[choice.index] += choice.delta.content or ""
            ended |= {choice.index} if choice.finish_reason == "content_filter" else set()
    assert ended == set(range(count))
    for text in said:
        assert text.endswith(TEXT)
        assert "insider" not in text
    # The helper that builds the whole of a stream knows the word, and says so in its own way.
    stream = ask.stream(model="assistant", messages=messages, n=count)
    with stream as events, pytest.raises(openai.ContentFilterFinishReasonError):
        events.get_final_completion()


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS)
def test_completions(manned: Any, prompt: str) -> None:
    ask = manned.client().completions
    whole = ask.create(model="assistant", prompt=prompt)
    assert (whole.choices[0].text, whole.choices[0].finish_reason) == (TEXT, "content_filter")
    assert is_known(manned, whole.model_dump()["sovctl"])
    chunks = list(ask.create(model="assistant", prompt=prompt, stream=True))
    text = "".join(choice.text for chunk in chunks for choice in chunk.choices)
    assert text.endswith(TEXT)
    assert "insider" not in text
    assert is_known(manned, chunks[-1].model_dump()["sovctl"])


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS)
def test_responses(manned: Any, prompt: str) -> None:
    ask = manned.client().responses
    whole = ask.create(model="assistant", input=prompt)
    assert (whole.output_text, whole.status) == (TEXT, "incomplete")
    assert whole.incomplete_details is not None
    assert whole.incomplete_details.reason == "content_filter"
    with ask.stream(model="assistant", input=prompt) as stream:
        events = list(stream)
    kinds = [event.type for event in events]
    numbers = [event.sequence_number for event in events]
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.incomplete"
    assert numbers == sorted(set(numbers))
    final = events[-1].response  # type: ignore[union-attr]
    assert final.output_text.endswith(TEXT)
    assert "insider" not in final.output_text
    assert is_known(manned, final.model_dump()["sovctl"])


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS)
def test_messages(manned: Any, prompt: str) -> None:
    messages: Any = [{"role": "user", "content": prompt}]
    with claude(manned) as client:
        whole = client.messages.create(model="assistant", max_tokens=99, messages=messages)
        assert [block.type == "text" and block.text for block in whole.content] == [TEXT]
        assert whole.stop_reason == "refusal"
        assert is_known(manned, whole.model_dump()["sovctl"])
        with client.messages.stream(model="assistant", max_tokens=99, messages=messages) as stream:
            final = stream.get_final_message()
    text = "".join(block.text for block in final.content if block.type == "text")
    assert text.endswith(TEXT)
    assert "insider" not in text
    assert final.stop_reason == "refusal"


def test_a_streamed_choice_says_its_role_once_and_what_was_said_stands_apart() -> None:
    ending = SURFACES["/v1/chat/completions"].ending({"messages": [], "n": 3})
    deltas = (0, {"role": "assistant", "content": ""}), (1, {"role": "assistant"}), (1, {"content": "So."})
    for index, delta in deltas:
        ending.sent({"id": "chatcmpl-1", "choices": [{"index": index, "delta": delta, "finish_reason": None}]})
    *events, _ = ending.events(ReplacementAnswer("ho-1", TEXT, "assistant", "r", 0))
    said = [json.loads(each.removeprefix(b"data: "))["choices"][0]["delta"] for each in events[::2]]
    assert said == [{"content": TEXT}, {"content": f"\n\n{TEXT}"}, {"role": "assistant", "content": TEXT}]


@pytest.mark.parametrize(("prompt", "count"), [([101, 102, 103], 2), (["a", "b", "c"], 6), ([[101], [102]], 4)])
def test_a_prompt_of_token_ids_is_one(prompt: list[Any], count: int) -> None:
    ending = SURFACES["/v1/completions"].ending({"prompt": prompt, "n": 2})
    assert ending is not None
    assert len(ending.whole(ReplacementAnswer("ho-1", TEXT, "assistant", "r", 0))["choices"]) == count


def test_a_batch_gets_the_text_for_each_conversation(manned: Any) -> None:
    body = {"model": "assistant", "messages": [[{"role": "user", "content": text}] for text in (GOOD, BAD)]}
    headers = {"authorization": f"Bearer {API_KEY}", "content-type": "application/json"}
    status, got, answer = manned.request("POST", "/v1/chat/completions/batch", json.dumps(body).encode(), headers)
    assert status == 200
    assert [choice["message"]["content"] for choice in json.loads(answer)["choices"]] == [TEXT, TEXT]
    assert is_known(manned, {"handoff_id": got["x-sovctl-handoff-id"]})
