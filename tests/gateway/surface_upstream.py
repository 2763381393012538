"""An upstream that serves every surface: it answers with what it was asked, in the shape of the real API."""

from __future__ import annotations

import base64
import email
import json
import struct
from typing import Any, ClassVar

from echo_upstream import EchoUpstream
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

VECTOR = (0.5, -0.25, 1e-05)
USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


class SurfaceUpstream(EchoUpstream):
    """Use as a context manager."""

    surfaces = (
        "chat.completions",
        "chat.completions.batch",
        "completions",
        "embeddings",
        "rerank",
        "score",
        "responses",
        "messages",
    )

    response_end: ClassVar[str] = "completed"

    def routes(self) -> list[Route]:
        """What it serves."""
        handlers = {
            "/v1/chat/completions/batch": self._chat_batch,
            "/v1/completions": self._completions,
            "/v1/embeddings": self._embeddings,
            "/v1/rerank": self._rerank,
            "/v1/score": self._score,
            "/v1/audio/transcriptions": self._transcribe,
            "/v1/audio/translations": self._transcribe,
            "/tokenize": self._tokenize,
            "/detokenize": self._tokenize,
            "/v1/responses": self._responses,
            "/v1/messages": self._messages,
            "/v1/messages/count_tokens": self._count_tokens,
        }
        return [*super().routes(), *(Route(path, handler, methods=["POST"]) for path, handler in handlers.items())]

    async def _chat_batch(self, request: Request) -> Response:
        body = await self.got(request)
        choices = [
            {
                "index": index,
                "message": {"role": "assistant", "content": messages[-1]["content"]},
                "finish_reason": "stop",
            }
            for index, messages in enumerate(body["messages"])
        ]
        return JSONResponse(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": body["model"],
                "choices": choices,
                "usage": USAGE,
            }
        )

    async def _completions(self, request: Request) -> Response:
        body = await self.got(request)
        if refusal := self.refusal():
            return refusal
        prompts = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
        texts = [f"{prompt}{body.get('suffix') or ''}" for prompt in prompts]
        envelope = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": body["model"]}
        logprobs = {"tokens": ["a"], "token_logprobs": [-0.1], "top_logprobs": None, "text_offset": [0]}

        def choice(index: int, text: str, finish: str | None) -> dict[str, Any]:
            return {
                "index": index,
                "text": text,
                "logprobs": logprobs if body.get("logprobs") else None,
                "finish_reason": finish,
            }

        if not body.get("stream"):
            choices = [choice(index, text, "stop") for index, text in enumerate(texts)]
            return JSONResponse({**envelope, "choices": choices, "usage": USAGE})
        chunks = [
            {**envelope, "choices": [choice(index, text[start : start + 5], None)]}
            for start in range(0, max(map(len, texts)), 5)
            for index, text in enumerate(texts)
        ]
        chunks += [{**envelope, "choices": [choice(index, "", "stop")]} for index in range(len(texts))]
        if (body.get("stream_options") or {}).get("include_usage"):
            chunks.append({**envelope, "choices": [], "usage": USAGE})
        return self.streamed([*(b"data: " + json.dumps(c).encode() + b"\n\n" for c in chunks), b"data: [DONE]\n\n"])

    async def _embeddings(self, request: Request) -> Response:
        body = await self.got(request)
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        vector: Any = list(VECTOR)
        if body.get("encoding_format") == "base64":
            vector = base64.b64encode(struct.pack("<3f", *VECTOR)).decode()
        data = [{"object": "embedding", "index": index, "embedding": vector} for index in range(len(texts))]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return JSONResponse({"object": "list", "data": data, "model": body["model"], "usage": usage})

    async def _rerank(self, request: Request) -> Response:
        body = await self.got(request)
        results = [
            {"index": index, "document": {"text": text, "multi_modal": None}, "relevance_score": 1 / (1 + index)}
            for index, text in enumerate(body["documents"])
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return JSONResponse({"id": "rerank-1", "model": body["model"], "usage": usage, "results": results})

    async def _responses(self, request: Request) -> Response:
        body = await self.got(request)
        if refusal := self.refusal():
            return refusal
        if body.get("stream"):
            # Servers that end every stream alike say one thing more.
            return self.streamed([*response_events(body, self.response_end), b"data: [DONE]\n\n"])
        return JSONResponse(response_of(body, self.response_end, output_of(body)))

    async def _messages(self, request: Request) -> Response:
        body = await self.got(request)
        if refusal := self.refusal():
            return refusal
        if body.get("stream"):
            return self.streamed([*message_events(body), b"data: [DONE]\n\n"])
        return JSONResponse(message_of(body, blocks_of(body), "end_turn"))

    async def _count_tokens(self, request: Request) -> Response:
        await self.got(request)
        return JSONResponse({"input_tokens": 7})

    async def _transcribe(self, request: Request) -> Response:
        raw = await request.body()
        self.raw.append(raw + b"\n" + repr(request.headers.items()).encode())
        form = email.message_from_bytes(b"Content-Type: " + request.headers["content-type"].encode() + b"\n\n" + raw)
        fields: dict[str, Any] = {}
        for part in form.get_payload():
            name = part.get_param("name", header="content-disposition")
            fields[name] = part.get_payload(decode=True) if part.get_filename() else part.get_payload().strip()
        self.requests.append(fields)
        heard = f"Heard {len(fields['file'])} bytes: {fields.get('prompt', '')}"
        text = self.script.message({"messages": [{"content": heard}]})["content"]
        if fields.get("stream") == "true":
            chunk = {"id": "trsc-1", "object": "transcription.chunk", "created": 1, "model": fields["model"]}
            deltas = [text[start : start + 5] for start in range(0, len(text), 5)]
            chunks = [{**chunk, "choices": [{"delta": {"content": delta}, "finish_reason": None}]} for delta in deltas]
            said = [{"type": "transcript.text.delta", "delta": delta} for delta in deltas]
            said.append({"type": "transcript.text.done", "text": text})
            events = said if fields.get("prompt") == "openai" else chunks
            return self.streamed([*(b"data: " + json.dumps(e).encode() + b"\n\n" for e in events), b"data: [DONE]\n\n"])
        match fields.get("response_format", "json"):
            case "srt":
                return Response(f"1\n00:00:00,000 --> 00:00:01,000\n{text}\n", media_type="text/plain")
            case "vtt":
                return Response(f"WEBVTT\n\n00:00.000 --> 00:01.000\n{text}\n", media_type="text/vtt")
            case "text":
                return Response(text, media_type="text/plain")
            case "verbose_json":
                word = {"word": "Heard", "start": 0.0, "end": 0.5}
                return JSONResponse({"text": text, "language": "en", "duration": 1.0, "segments": [], "words": [word]})
        return JSONResponse({"text": text, "usage": {"type": "duration", "seconds": 1}})

    async def _tokenize(self, request: Request) -> Response:
        body = await self.got(request)
        if "tokens" in body:
            return JSONResponse({"prompt": "".join(map(chr, body["tokens"]))})
        tokens = [ord(character) for character in body["prompt"]]
        return JSONResponse({"count": len(tokens), "max_model_len": 512, "tokens": tokens, "token_strs": None})

    async def _score(self, request: Request) -> Response:
        body = await self.got(request)
        data = [{"index": 0, "object": "score", "score": 0.5}]
        return JSONResponse(
            {"id": "embd-1", "object": "list", "created": 1, "model": body["model"], "data": data, "usage": USAGE}
        )


class PoolUpstream(SurfaceUpstream):
    """With the surfaces that only a pool can serve."""

    surfaces = (*SurfaceUpstream.surfaces, "audio.transcriptions", "audio.translations", "tokenize")


def output_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """What a response says: reasoning, then a message that repeats the last input, then a call of every tool."""
    asked = body["input"]
    if isinstance(asked, list):
        content = asked[-1].get("content") or asked[-1].get("output")
        asked = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
    output: list[dict[str, Any]] = []
    if body.get("reasoning"):
        summary = [{"type": "summary_text", "text": f"The user says: {asked}"}]
        output.append({"id": "rs_1", "type": "reasoning", "summary": summary, "content": None, "status": None})
    part = {"type": "output_text", "text": asked, "annotations": [], "logprobs": None}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    output.append(message)
    for number, tool in enumerate(body.get("tools") or []):
        call = {"id": f"fc_{number}", "call_id": f"call_{number}", "type": "function_call", "name": tool["name"]}
        output.append({**call, "arguments": json.dumps({"said": asked}), "status": "completed"})
    return output


def response_of(body: dict[str, Any], status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    """A response object, with everything of the request that real ones repeat."""
    usage = {
        "input_tokens": 1,
        "output_tokens": 2,
        "total_tokens": 3,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    return {
        "id": "resp_0123456789abcdef",
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": body["model"],
        "output": output,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": body.get("instructions"),
        "metadata": body.get("metadata") or {},
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": body.get("tools") or [],
        "temperature": 1.0,
        "top_p": 1.0,
        "usage": usage if status == "completed" else None,
        "previous_response_id": body.get("previous_response_id"),
    }


_DELTAS = {
    "output_text": ("response.output_text", "content_index", "text", "content_part", "content"),
    "summary_text": ("response.reasoning_summary_text", "summary_index", "text", "reasoning_summary_part", "summary"),
}


def response_events(body: dict[str, Any], end: str = "completed", size: int = 5) -> list[bytes]:
    """The stream of a response, every event that a real one sends."""
    events: list[dict[str, Any]] = []
    output = output_of(body)

    def say(kind: str, **fields: Any) -> None:
        events.append({"type": kind, "sequence_number": len(events), **fields})

    for kind in ("created", "in_progress"):
        say(f"response.{kind}", response=response_of(body, "in_progress", []))
    for place, item in enumerate(output):
        where = {"item_id": item["id"], "output_index": place}
        empty = {**item, **{key: [] for key in ("content", "summary") if item.get(key)}}
        say(
            "response.output_item.added",
            output_index=place,
            item={**empty, **({"arguments": ""} if "arguments" in item else {})},
        )
        for part_place, part in enumerate(item.get("content") or item.get("summary") or []):
            kind, index, field, part_kind, _ = _DELTAS[part["type"]]
            here = {**where, index: part_place}
            say(f"response.{part_kind}.added", **here, part={**part, "text": ""})
            for start in range(0, len(part[field]), size):
                say(f"{kind}.delta", **here, delta=part[field][start : start + size], logprobs=[])
            say(f"{kind}.done", **here, text=part[field], logprobs=[])
            say(f"response.{part_kind}.done", **here, part=part)
        if "arguments" in item:
            for start in range(0, len(item["arguments"]), size):
                say("response.function_call_arguments.delta", **where, delta=item["arguments"][start : start + size])
            say("response.function_call_arguments.done", **where, name=item["name"], arguments=item["arguments"])
        say("response.output_item.done", output_index=place, item=item)
    final = response_of(body, end, output)
    if end == "failed":
        final["error"] = {"code": "server_error", "message": f"could not answer {body['input']}"}
    say(f"response.{end}", response=final)
    return [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in events]


def blocks_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """What a message says: signed thinking when asked for, text that repeats the last message, a call of every tool."""
    asked = body["messages"][-1]["content"]
    if isinstance(asked, list):
        asked = "".join(str(part.get("text") or part.get("content") or "") for part in asked)
    blocks: list[dict[str, Any]] = []
    if body.get("thinking"):
        blocks.append({"type": "thinking", "thinking": f"The user says: {asked}", "signature": "c2lnbmVk" * 30})
    blocks.append({"type": "text", "text": asked, "citations": None})
    for number, tool in enumerate(body.get("tools") or []):
        arguments = {"said": asked, "deep": [{"said": asked}]}
        blocks.append({"type": "tool_use", "id": f"toolu_{number}", "name": tool["name"], "input": arguments})
    return blocks


def message_of(body: dict[str, Any], content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
    """A message object."""
    usage = {"input_tokens": 1, "output_tokens": 2}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"]}
    sequence = (body.get("stop_sequences") or [None])[0]
    return {
        **head,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": sequence if stop else None,
        "usage": usage,
    }


def message_events(body: dict[str, Any], size: int = 5) -> list[bytes]:
    """The stream of a message, every event that a real one sends."""
    said: list[dict[str, Any]] = [{"type": "message_start", "message": message_of(body, [], None)}, {"type": "ping"}]
    for index, block in enumerate(blocks_of(body)):
        deltas: list[dict[str, Any]] = []
        if block["type"] == "tool_use":
            empty, whole, kind, field = {**block, "input": {}}, json.dumps(block["input"]), "input_json", "partial_json"
        elif block["type"] == "thinking":
            empty, whole, kind, field = (
                {**block, "thinking": "", "signature": ""},
                block["thinking"],
                "thinking",
                "thinking",
            )
        else:
            empty, whole, kind, field = {**block, "text": ""}, block["text"], "text", "text"
        deltas += [
            {"type": f"{kind}_delta", field: whole[start : start + size]} for start in range(0, len(whole), size)
        ]
        if "signature" in block:
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        said.append({"type": "content_block_start", "index": index, "content_block": empty})
        said += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        said.append({"type": "content_block_stop", "index": index})
    end = message_of(body, [], "end_turn")
    delta = {"stop_reason": end["stop_reason"], "stop_sequence": end["stop_sequence"]}
    said += [{"type": "message_delta", "delta": delta, "usage": {"output_tokens": 2}}, {"type": "message_stop"}]
    return [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in said]
