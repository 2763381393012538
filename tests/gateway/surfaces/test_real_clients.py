"""The clients that applications really use, sync and async: what they parse and put together is what the user wrote."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anthropic
import openai
import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel
from surface_givens import API_KEY, MAIL, PROMPT, assert_clean
from surface_upstream import SurfaceUpstream

PROMPTS = [f"{PROMPT} This is letter number {number}." for number in range(6)]


class Letter(BaseModel):
    """What a client asks a model for."""

    to: str
    about: str


@tool
def send_mail(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


def langchain(gateway: Any) -> ChatOpenAI:
    client = gateway.client()
    return ChatOpenAI(
        model="assistant",
        api_key=API_KEY,
        base_url=str(client.base_url),
        http_client=client._client,
        max_retries=0,
        use_responses_api=False,
    )


def calls_for(body: dict[str, Any]) -> dict[str, Any]:
    """An answer that calls every tool with the mail address of the prompt, as the cloud sees it."""
    address = next(word for word in body["messages"][-1]["content"].split() if word.startswith("EMAIL_"))
    calls = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": each["function"]["name"], "arguments": json.dumps({"to": address.strip(",.")})},
        }
        for number, each in enumerate(body["tools"])
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def test_openais_async_client_streams_many_answers_at_once(gateway: Any, cloud: SurfaceUpstream) -> None:
    async def all_of_them() -> list[str]:
        async with openai.AsyncOpenAI(
            api_key=API_KEY,
            base_url=f"https://127.0.0.1:{gateway.port}/v1",
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(verify=gateway.tls),
        ) as client:

            async def one(content: str) -> str:
                messages: Any = [{"role": "user", "content": content}]
                stream = await client.chat.completions.create(model="assistant", messages=messages, stream=True)
                return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

            return await asyncio.gather(*map(one, PROMPTS))

    assert asyncio.run(all_of_them()) == PROMPTS
    assert_clean(cloud)


def test_anthropics_async_client_streams_many_answers_at_once(gateway: Any, cloud: SurfaceUpstream) -> None:
    async def all_of_them() -> list[str]:
        async with anthropic.AsyncAnthropic(
            api_key=API_KEY,
            base_url=f"https://127.0.0.1:{gateway.port}",
            max_retries=0,
            http_client=anthropic.DefaultAsyncHttpxClient(verify=gateway.tls),
        ) as client:

            async def one(content: str) -> str:
                asked: Any = [{"role": "user", "content": content}]
                async with client.messages.stream(model="assistant", max_tokens=99, messages=asked) as stream:
                    return "".join([text async for text in stream.text_stream])

            return await asyncio.gather(*map(one, PROMPTS))

    assert asyncio.run(all_of_them()) == PROMPTS
    assert_clean(cloud)


def test_langchain_chats_and_streams(gateway: Any, cloud: SurfaceUpstream) -> None:
    model = langchain(gateway)
    assert model.invoke([HumanMessage(PROMPT)]).text == PROMPT
    assert "".join(chunk.text for chunk in model.stream(PROMPT)) == PROMPT
    assert_clean(cloud)


@pytest.mark.parametrize("is_streamed", [False, True])
def test_langchain_calls_tools_in_parallel(gateway: Any, cloud: SurfaceUpstream, is_streamed: bool) -> None:
    cloud.script.message = calls_for
    model = langchain(gateway).bind_tools([send_mail, send_mail])
    if is_streamed:
        message: Any = None
        for chunk in model.stream(PROMPT):
            message = chunk if message is None else message + chunk
    else:
        message = model.invoke(PROMPT)
    assert [call["args"] for call in message.tool_calls] == [{"to": MAIL}, {"to": MAIL}]
    assert_clean(cloud)


def in_json(body: dict[str, Any]) -> str:
    """A document with the words of the prompt in it, as a model writes it that must write JSON."""
    source = body.get("messages") or [{"content": body.get("input")}]
    content = source[-1]["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    return json.dumps({"to": text.split("<")[1].split(">")[0], "about": text.split("<")[2].split(">")[0]})


ODD_URL = 'https://bank.test/?q="anna@example.com\\x'


def test_an_answer_that_must_be_json_is_json(gateway: Any, cloud: SurfaceUpstream) -> None:
    # The value itself has a quote and a backslash in it: a link that the user wrote, which is one token.
    content = f"Please write to <{MAIL}> about <{ODD_URL} >"
    cloud.script.message = lambda body: {"role": "assistant", "content": in_json(body)}
    client = gateway.client()
    messages = [{"role": "user", "content": content}]
    parsed = client.chat.completions.parse(model="assistant", messages=messages, response_format=Letter)
    expected = Letter(to=MAIL, about=f"{ODD_URL} ")
    assert parsed.choices[0].message.parsed == expected
    with client.chat.completions.stream(model="assistant", messages=messages, response_format=Letter) as stream:
        assert stream.get_final_completion().choices[0].message.parsed == expected
    assert langchain(gateway).with_structured_output(Letter, method="json_schema").invoke(content) == expected
    # Without such a request the same text is no JSON, and comes back as the user wrote it.
    plain = client.chat.completions.create(model="assistant", messages=messages).choices[0].message.content
    assert ODD_URL in plain


ODD_TEXT = 'the "odd" \\x of <anna@example.com>'


def test_a_response_that_must_be_json_is_json(gateway: Any, cloud: SurfaceUpstream) -> None:
    content = json.dumps({"to": MAIL, "about": ODD_TEXT + " "})  # repeated by the model as it is
    parsed = gateway.client().responses.parse(model="assistant", input=content, text_format=Letter)
    assert parsed.output_parsed == Letter(to=MAIL, about=ODD_TEXT + " ")
    with gateway.client().responses.stream(model="assistant", input=content, text_format=Letter) as stream:
        assert stream.get_final_response().output_parsed == Letter(to=MAIL, about=ODD_TEXT + " ")


def test_clients_find_the_id_of_a_request(gateway: Any, cloud: SurfaceUpstream) -> None:
    completion = gateway.client().chat.completions.create(
        model="assistant", messages=[{"role": "user", "content": PROMPT}]
    )
    assert completion._request_id in {record.get("id") for record in gateway.records()}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", {"input": "x"}),
        ("/v1/rerank", {"query": "x", "documents": ["y"]}),
        ("/v1/score", {"text_1": "x", "text_2": "y"}),
        ("/tokenize", {"prompt": "x"}),
    ],
)
def test_what_has_no_stream_refuses_one(gateway: Any, pool: SurfaceUpstream, path: str, body: dict[str, Any]) -> None:
    headers = {"authorization": f"Bearer {API_KEY}"}
    asked = json.dumps({"model": "inside", "stream": True, **body}).encode()
    status, _, answer = gateway.request("POST", path, asked, headers)
    assert (status, json.loads(answer)["error"]["code"]) == (400, "invalid_request")
    assert not pool.requests
