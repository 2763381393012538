"""Servers on loopback with the APIs of clouds: strict about requests, in the order of events of the references.

They are modelled on (read 2026-11): Anthropic, "Messages" and "Streaming messages"; OpenAI, "Chat completions"; Azure
OpenAI REST reference; Google, "Request predictions with Claude models" and "Using OAuth 2.0 for server to server
applications"; Amazon Bedrock, Converse and ConverseStream; Smithy, "Amazon Event Stream Specification"; AWS, "Create a
signed AWS API request".

An answer repeats the last text of the user. If the request offers tools, it calls the first one with that text, and
with a number that no float holds.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import struct
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote
from zlib import crc32

import jwt
from echo_upstream import EchoUpstream
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

LONG = 61109010140000071219812874
USED = {"fresh": 30, "read": 20, "written": 10, "answer": 7, "thinking": 2}


class Invalid(Exception):
    """The request does not follow the API."""


def require(fact: object, what: str) -> None:
    if not fact:
        raise Invalid(what)


def only(value: dict[str, Any], *names: str) -> None:
    require(isinstance(value, dict), "an object")
    require(not value.keys() - set(names), f"no field {sorted(value.keys() - set(names))}")


class ProviderServer(EchoUpstream):
    """Answers in the API of a provider; `problems` holds what was wrong with requests."""

    paths: tuple[str, ...] = ()
    thinks = False
    addition = ""
    """The model's own text, after the one that it repeats."""

    def routes(self) -> list[Route]:
        self.problems: list[str] = []
        self.targets: list[str] = []
        self.heads: list[dict[str, str]] = []
        return [Route(path, self._serve, methods=["POST"]) for path in self.paths]

    @property
    def origin(self) -> str:
        return self.base_url.removesuffix("/v1")

    def forget(self) -> None:
        super().forget()
        for kept in (self.problems, self.targets, self.heads):
            kept.clear()

    async def _serve(self, request: Request) -> Response:
        body = await self.got(request)
        raw = request.scope["raw_path"].decode()
        query = request.scope["query_string"].decode()
        self.targets.append(f"{raw}?{query}" if query else raw)
        self.heads.append(dict(request.headers))
        try:
            self.authorize(request, self.raw[-1].rpartition(b"\n")[0])
            self.validate(body, request)
        except (Invalid, KeyError, TypeError, AttributeError) as error:
            self.problems.append(f"{type(error).__name__}: {error}")
            return self.error(400, str(error))
        if self.script.status != 200:
            return self.error(self.script.status, f"echoing {self.raw[-1]!r}")
        return self.answer(body, request)

    def error(self, status: int, text: str) -> Response:
        return JSONResponse({"type": "error", "error": {"type": "api_error", "message": text}}, status)

    def authorize(self, request: Request, raw: bytes) -> None:
        raise NotImplementedError

    def validate(self, body: dict[str, Any], request: Request) -> None:
        raise NotImplementedError

    def answer(self, body: dict[str, Any], request: Request) -> Response:
        raise NotImplementedError


# Anthropic


def check_messages(body: dict[str, Any]) -> None:
    """Rules of Anthropic's messages."""
    only(
        body,
        *("model", "messages", "system", "max_tokens", "temperature", "top_p", "top_k", "stop_sequences", "stream"),
        *("tools", "tool_choice", "thinking", "output_config", "anthropic_version", "metadata"),
    )
    require(type(body["max_tokens"]) is int and body["max_tokens"] > 0, "max_tokens")
    require(0 <= body.get("temperature", 0) <= 1, "temperature")
    require(isinstance(body["messages"], list) and body["messages"], "messages")
    require(body["messages"][0]["role"] == "user", "the first message is the user's")
    for block in body.get("system", []) if isinstance(body.get("system"), list) else []:
        only(block, "type", "text", "cache_control")
    open_calls: set[str] = set()
    for message in body["messages"]:
        only(message, "role", "content")
        require(message["role"] in ("user", "assistant"), "role")
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        require(blocks, "content is not empty")
        results = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        require(results == open_calls, "every tool_use has its tool_result in the next message")
        open_calls = {block["id"] for block in blocks if block["type"] == "tool_use"}
        for block in blocks:
            match block["type"]:
                case "text":
                    require(isinstance(block["text"], str) and block["text"], "text is not empty")
                case "tool_use":
                    require(message["role"] == "assistant" and isinstance(block["input"], dict), "tool_use")
                    only(block, "type", "id", "name", "input")
                case "tool_result":
                    require(message["role"] == "user", "tool_result")
                    only(block, "type", "tool_use_id", "content", "is_error")
                case "image":
                    only(block["source"], "type", "media_type", "data", "url")
                case kind:
                    raise Invalid(kind)
    require(not open_calls, "every tool_use has its tool_result")
    for tool in body.get("tools", []):
        only(tool, "name", "description", "input_schema", "strict", "type")
        require(tool["input_schema"]["type"] == "object", "input_schema")
    if "tool_choice" in body:
        only(body["tool_choice"], "type", "name", "disable_parallel_tool_use")
        require(body["tool_choice"]["type"] in ("auto", "any", "tool", "none") and body["tools"], "tool_choice")


def last_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content)


def blocks_for(body: dict[str, Any], *, thinks: bool, addition: str) -> list[dict[str, Any]]:
    text = last_text(body["messages"][-1]["content"]) + addition
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}]
    if thinks:
        blocks.insert(0, {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"})
    if body.get("tools") and (body.get("tool_choice") or {}).get("type") != "none":
        arguments = {"note": text, "number": LONG}
        blocks.append({"type": "tool_use", "id": "toolu_1", "name": body["tools"][0]["name"], "input": arguments})
        blocks.append({"type": "tool_use", "id": "toolu_2", "name": body["tools"][0]["name"], "input": {}})
    return blocks


def message_for(body: dict[str, Any], *, thinks: bool, addition: str) -> dict[str, Any]:
    blocks = blocks_for(body, thinks=thinks, addition=addition)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "claude"),
        "content": blocks,
        "stop_reason": "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": USED["fresh"],
            "cache_creation_input_tokens": USED["written"],
            "cache_read_input_tokens": USED["read"],
            "output_tokens": USED["answer"],
            "output_tokens_details": {"thinking_tokens": USED["thinking"]},
        },
    }


def message_events_for(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    begun = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    for index, block in enumerate(message["content"]):
        match block["type"]:
            case "text":
                start, deltas = (
                    {**block, "text": ""},
                    [{"type": "text_delta", "text": part} for part in cut(block["text"])],
                )
            case "thinking":
                start = {**block, "thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": part} for part in cut(block["thinking"])]
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            case _:
                start = {**block, "input": {}}
                parts = cut(json.dumps(block["input"])) if block["input"] else [""]
                deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": message["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}


def cut(text: str) -> list[str]:
    return [text[start : start + 5] for start in range(0, len(text), 5)]


def named_events(events: Iterator[dict[str, Any]]) -> list[bytes]:
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]


class AnthropicServer(ProviderServer):
    """`POST /v1/messages` and counting."""

    paths = ("/v1/messages", "/v1/messages/count_tokens")

    def authorize(self, request: Request, raw: bytes) -> None:
        require(request.headers.get("x-api-key") == "cloud-key", "x-api-key")
        require("authorization" not in request.headers, "one credential")
        require(re.fullmatch(r"\d{4}-\d\d-\d\d", request.headers["anthropic-version"]), "anthropic-version")

    def validate(self, body: dict[str, Any], request: Request) -> None:
        require(body["model"] == "claude-9", "model")
        if not request.url.path.endswith("count_tokens"):
            check_messages(body)

    def answer(self, body: dict[str, Any], request: Request) -> Response:
        if request.url.path.endswith("count_tokens"):
            return JSONResponse({"input_tokens": 7})
        message = message_for(body, thinks=self.thinks, addition=self.addition)
        if body.get("stream"):
            return self.streamed(named_events(message_events_for(message)))
        return JSONResponse(message)


class ServiceAccountServer(ProviderServer):
    """Accepts the newest access token that its own endpoint for tokens issued."""

    public_key: Any = None
    exchanges: int = 0
    lifetime_s = 3600
    refuses_exchange = False

    def routes(self) -> list[Route]:
        return [*super().routes(), Route("/token", self._token, methods=["POST"])]

    async def _token(self, request: Request) -> Response:
        form = dict(await request.form())
        self.exchanges += 1
        claims = jwt.decode(
            str(form["assertion"]), self.public_key, algorithms=["RS256"], audience=f"{self.origin}/token"
        )
        good = form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
        good = good and claims["scope"] == "https://www.googleapis.com/auth/cloud-platform"
        good = good and claims["iss"] == "gw@p.iam.gserviceaccount.com" and claims["exp"] - claims["iat"] <= 3600
        if not good or self.refuses_exchange:
            return JSONResponse({"error": "invalid_grant"}, 400)
        return JSONResponse(
            {"access_token": f"ya29.{self.exchanges}", "expires_in": self.lifetime_s, "token_type": "Bearer"}
        )

    def authorize(self, request: Request, raw: bytes) -> None:
        require(request.headers.get("authorization") == f"Bearer ya29.{self.exchanges}", "the newest token")


class VertexAnthropicServer(ServiceAccountServer, AnthropicServer):
    """Anthropic's models on Vertex."""

    paths = ("/v1/projects/{project}/locations/{location}/publishers/anthropic/models/{call}",)

    def validate(self, body: dict[str, Any], request: Request) -> None:
        call = request.path_params["call"]
        require((request.path_params["project"], request.path_params["location"]) == ("p-1", "europe-west4"), "path")
        if call == "count-tokens:rawPredict":
            return
        require(call == f"claude-9@20260101:{'streamRawPredict' if body.get('stream') else 'rawPredict'}", call)
        require("model" not in body and body["anthropic_version"] == "vertex-2023-10-16", "anthropic_version")
        check_messages(body)

    def answer(self, body: dict[str, Any], request: Request) -> Response:
        if request.path_params.get("call", "").startswith("count-tokens"):
            return JSONResponse({"input_tokens": 7})
        return super().answer(body, request)


# OpenAI


def check_chat(body: dict[str, Any]) -> None:
    """Rules of OpenAI's chat completions."""
    only(
        body,
        *("model", "messages", "temperature", "top_p", "max_completion_tokens", "max_tokens", "stop", "stream", "n"),
        *("tools", "tool_choice", "parallel_tool_calls", "reasoning_effort", "response_format", "stream_options"),
    )
    require(body["messages"], "messages")
    open_calls: set[str] = set()
    for message in body["messages"]:
        role = message["role"]
        require(role in ("system", "developer", "user", "assistant", "tool"), "role")
        if role == "tool":
            only(message, "role", "content", "tool_call_id")
            open_calls.remove(message["tool_call_id"])
            continue
        require(not open_calls, "every call has its result before the next message")
        only(message, "role", "content", "tool_calls", "name")
        for call in message.get("tool_calls", []):
            require(role == "assistant" and call["type"] == "function", "tool_calls")
            require(isinstance(json.loads(call["function"]["arguments"] or "{}"), dict), "arguments")
            open_calls.add(call["id"])
        content = message.get("content")
        require(isinstance(content, str) or message.get("tool_calls") or isinstance(content, list), "content")
        for part in content if isinstance(content, list) else []:
            require(part["type"] in ("text", "image_url", "file"), "part")
    require(not open_calls, "every call has its result")
    for tool in body.get("tools", []):
        require(tool["type"] == "function" and tool["function"]["name"], "tools")
    if "response_format" in body:
        require(body["response_format"]["json_schema"]["name"], "response_format")


FILTER = {"hate": {"filtered": False, "severity": "safe"}, "jailbreak": {"filtered": False, "detected": False}}


class ChatServer(ProviderServer):
    """`POST /v1/chat/completions`."""

    paths = ("/v1/chat/completions",)
    has_filters = False

    def authorize(self, request: Request, raw: bytes) -> None:
        require(request.headers.get("authorization") == "Bearer cloud-key", "authorization")
        require("anthropic-version" not in request.headers, "no headers of another API")

    def validate(self, body: dict[str, Any], request: Request) -> None:
        require(body["model"] == "gpt-9", "model")
        check_chat(body)

    def answer(self, body: dict[str, Any], request: Request) -> Response:
        text = last_text(body["messages"][-1]["content"]) + self.addition
        calls = []
        if body.get("tools") and body.get("tool_choice") != "none":
            name = body["tools"][0]["function"]["name"]
            first = json.dumps({"note": text, "number": LONG})
            calls = [
                {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
                for number, arguments in enumerate((first, "{}"))
            ]
        reason = "tool_calls" if calls else "stop"
        prompt = USED["fresh"] + USED["read"] + USED["written"]
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": USED["answer"],
            "total_tokens": prompt + USED["answer"],
            "prompt_tokens_details": {"cached_tokens": USED["read"], "cache_write_tokens": USED["written"]},
            "completion_tokens_details": {"reasoning_tokens": USED["thinking"]},
        }
        more = {"content_filter_results": FILTER} if self.has_filters else {}
        if not body.get("stream"):
            message = {
                "role": "assistant",
                "content": text,
                "refusal": None,
                **({"tool_calls": calls} if calls else {}),
            }
            choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason, **more}
            answer = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body["model"]}
            prompts = [{"prompt_index": 0, "content_filter_results": FILTER}]
            filters = {"prompt_filter_results": prompts} if self.has_filters else {}
            return JSONResponse({**answer, "choices": [choice], "usage": usage, **filters})
        return self.streamed([*self._chunks(body, text, calls, reason, usage, more), b"data: [DONE]\n\n"])

    def _chunks(
        self, body: dict[str, Any], text: str, calls: list[Any], reason: str, usage: Any, more: dict[str, Any]
    ) -> Iterator[bytes]:
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}

        def chunk(choices: list[Any], **fields: Any) -> bytes:
            return b"data: " + json.dumps({**head, "choices": choices, **fields}).encode() + b"\n\n"

        def delta(said: dict[str, Any], finish: str | None = None) -> bytes:
            return chunk([{"index": 0, "delta": said, "logprobs": None, "finish_reason": finish, **more}])

        if self.has_filters:
            prompts = [{"prompt_index": 0, "content_filter_results": FILTER}]
            yield chunk([], id="", object="", model="", created=0, prompt_filter_results=prompts)
        yield delta({"role": "assistant", "content": ""})
        for part in cut(text):
            yield delta({"content": part})
        for number, call in enumerate(calls):
            yield delta({"tool_calls": [{**call, "index": number, "function": {**call["function"], "arguments": ""}}]})
            for part in cut(call["function"]["arguments"]):
                yield delta({"tool_calls": [{"index": number, "function": {"arguments": part}}]})
        if self.has_filters:
            yield chunk([{"index": 0, "delta": {}, "finish_reason": None, "content_filter_results": FILTER}])
        yield delta({}, reason)
        if (body.get("stream_options") or {}).get("include_usage"):
            yield chunk([], usage=usage)


class AzureServer(ChatServer):
    """Azure OpenAI: the v1 API, and the API by deployment."""

    paths = ("/openai/v1/chat/completions", "/openai/deployments/{deployment}/chat/completions")
    has_filters = True

    def authorize(self, request: Request, raw: bytes) -> None:
        require(request.headers.get("api-key") == "cloud-key", "api-key")

    def validate(self, body: dict[str, Any], request: Request) -> None:
        if "deployment" in request.path_params:
            require(request.path_params["deployment"] == "gpt-9", "deployment")
            require(request.query_params.get("api-version") == "2024-10-21", "api-version")
        super().validate(body, request)


class VertexGoogleServer(ServiceAccountServer, ChatServer):
    """Gemini on Vertex behind the OpenAI-compatible API."""

    paths = ("/v1/projects/p-1/locations/europe-west4/endpoints/openapi/chat/completions",)

    def validate(self, body: dict[str, Any], request: Request) -> None:
        require(body["model"] == "google/gemini-9", "model")
        check_chat(body)


# Bedrock

ACCESS_KEY, SECRET_KEY, SESSION_TOKEN = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "AQoDYXdz+/=="


def expected_authorization(request: Request, raw: bytes, *, region: str) -> str:
    """The signature of AWS, version 4, computed from the request as it was received."""
    headers, time = request.headers, request.headers["x-amz-date"]
    names = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0]
    lines = "".join(f"{name}:{headers[name]}\n" for name in names.split(";"))
    path = quote(request.scope["raw_path"].decode(), safe="/-_.~")
    canonical = f"POST\n{path}\n\n{lines}\n{names}\n{hashlib.sha256(raw).hexdigest()}"
    scope = f"{time[:8]}/{region}/bedrock/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{time}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{SECRET_KEY}".encode()
    for part in (time[:8], region, "bedrock", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    credential = f"Credential={ACCESS_KEY}/{scope}"
    return f"AWS4-HMAC-SHA256 {credential}, SignedHeaders={names}, Signature={signature}"


def frame(headers: dict[str, str], payload: bytes) -> bytes:
    """One message of an Amazon event stream."""
    lines = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(lines) + len(payload), len(lines))
    message = prelude + struct.pack(">I", crc32(prelude)) + lines + payload
    return message + struct.pack(">I", crc32(message))


def event_frame(kind: str, payload: dict[str, Any]) -> bytes:
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return frame(headers, json.dumps({**payload, "p": "abcdefg"}).encode())


class BedrockServer(ProviderServer):
    """`Converse`, `ConverseStream` and `CountTokens`."""

    paths = ("/model/{model:path}/converse", "/model/{model:path}/converse-stream", "/model/{model:path}/count-tokens")
    exception: str | None = None

    def authorize(self, request: Request, raw: bytes) -> None:
        require(request.headers.get("x-amz-security-token") == SESSION_TOKEN, "session token")
        names = request.headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
        require({"host", "x-amz-date", "x-amz-security-token"} <= set(names), "signed headers")
        expected = expected_authorization(request, raw, region="eu-central-1")
        require(request.headers["authorization"] == expected, "signature")

    def validate(self, body: dict[str, Any], request: Request) -> None:
        require(request.path_params["model"] == "eu.anthropic.claude-9-v1:0", "model")
        if request.url.path.endswith("count-tokens"):
            only(body["input"]["converse"], "messages", "system", "toolConfig")
            return
        only(
            body,
            *("messages", "system", "inferenceConfig", "toolConfig", "additionalModelRequestFields", "outputConfig"),
        )
        only(body["inferenceConfig"], "maxTokens", "temperature", "topP", "stopSequences")
        for message in body["messages"]:
            only(message, "role", "content")
            for block in message["content"]:
                require(len(block) == 1, "a union")
                only(block, "text", "image", "document", "toolUse", "toolResult", "reasoningContent")
                if "toolUse" in block:
                    only(block["toolUse"], "toolUseId", "name", "input")
                    require(isinstance(block["toolUse"]["input"], dict), "input")
                if "toolResult" in block:
                    only(block["toolResult"], "toolUseId", "content", "status")
        for tool in body.get("toolConfig", {}).get("tools", []):
            only(tool["toolSpec"], "name", "description", "inputSchema", "strict")
            require(isinstance(tool["toolSpec"]["inputSchema"]["json"], dict), "inputSchema")

    def error(self, status: int, text: str) -> Response:
        return JSONResponse({"message": text}, status, headers={"x-amzn-errortype": "ValidationException"})

    def answer(self, body: dict[str, Any], request: Request) -> Response:
        if request.url.path.endswith("count-tokens"):
            return JSONResponse({"inputTokens": 7})
        text = last_text(body["messages"][-1]["content"]) + self.addition
        calls = []
        if tools := body.get("toolConfig", {}).get("tools"):
            name = tools[0]["toolSpec"]["name"]
            calls = [
                {"toolUseId": "tooluse_1", "name": name, "input": {"note": text, "number": LONG}},
                {"toolUseId": "tooluse_2", "name": name, "input": {}},
            ]
        reason = "tool_use" if calls else "end_turn"
        usage = {
            "inputTokens": USED["fresh"],
            "outputTokens": USED["answer"],
            "totalTokens": USED["fresh"] + USED["answer"],
            "cacheReadInputTokens": USED["read"],
            "cacheWriteInputTokens": USED["written"],
        }
        if not request.url.path.endswith("-stream"):
            content = [{"text": text}, *({"toolUse": call} for call in calls)]
            output = {"message": {"role": "assistant", "content": content}}
            metrics = {"latencyMs": 5}
            return JSONResponse({"output": output, "stopReason": reason, "usage": usage, "metrics": metrics})
        stream = b"".join(self._frames(text, calls, reason, usage))
        return StreamingResponse(self._pieces(stream), media_type="application/vnd.amazon.eventstream")

    def _frames(self, text: str, calls: list[Any], reason: str, usage: Any) -> Iterator[bytes]:
        yield event_frame("messageStart", {"role": "assistant"})
        for part in cut(text):
            yield event_frame("contentBlockDelta", {"delta": {"text": part}, "contentBlockIndex": 0})
        if self.exception is not None:
            headers = {":exception-type": self.exception, ":message-type": "exception"}
            yield frame(headers, json.dumps({"message": f"echoing {text}"}).encode())
            return
        yield event_frame("contentBlockStop", {"contentBlockIndex": 0})
        for index, call in enumerate(calls, 1):
            start = {"toolUse": {"toolUseId": call["toolUseId"], "name": call["name"]}}
            yield event_frame("contentBlockStart", {"start": start, "contentBlockIndex": index})
            for part in cut(json.dumps(call["input"])):
                delta = {"toolUse": {"input": part}}
                yield event_frame("contentBlockDelta", {"delta": delta, "contentBlockIndex": index})
            yield event_frame("contentBlockStop", {"contentBlockIndex": index})
        yield event_frame("messageStop", {"stopReason": reason})
        yield event_frame("metadata", {"usage": usage, "metrics": {"latencyMs": 5}})
