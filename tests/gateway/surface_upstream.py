"""An upstream that serves every surface: it answers with what it was asked, in the shape of the real API."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

from echo_upstream import EchoUpstream
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

VECTOR = (0.5, -0.25, 1e-05)
USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


class SurfaceUpstream(EchoUpstream):
    """Use as a context manager."""

    surfaces = ("chat.completions", "chat.completions.batch", "completions", "embeddings", "rerank", "score")

    def routes(self) -> list[Route]:
        """What it serves."""
        handlers = {
            "/v1/chat/completions/batch": self._chat_batch,
            "/v1/completions": self._completions,
            "/v1/embeddings": self._embeddings,
            "/v1/rerank": self._rerank,
            "/v1/score": self._score,
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

    async def _score(self, request: Request) -> Response:
        body = await self.got(request)
        data = [{"index": 0, "object": "score", "score": 0.5}]
        return JSONResponse(
            {"id": "embd-1", "object": "list", "created": 1, "model": body["model"], "data": data, "usage": USAGE}
        )
