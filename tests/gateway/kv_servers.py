"""A prefilling and a decoding server that speak the protocol of vLLM's NixlConnector (pull), with its failures.

The decoder answers with the text that is in the prefiller's blocks when it reads them, as a model would: after the
lease these blocks hold the prompt of another request, and nothing reports an error.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any, ClassVar

from echo_upstream import EchoUpstream, echo
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

BLOCKS = 16


@dataclass
class KvMemory:
    """The KV cache of a prefilling server: prompts by block, reused in a circle once their lease has ended."""

    lease_s: float = 60.0
    prompts: dict[int, str] = field(default_factory=dict)
    leases: dict[int, tuple[str, float]] = field(default_factory=dict)
    expired: int = 0
    after_expiry: int = 0
    _next: int = 0

    def write(self, prompt: str, request_id: str | None) -> int:
        """Store a prompt in a free block; with a lease if another server may read it."""
        now_s = time.monotonic()
        for block, (_, until_s) in [*self.leases.items()]:
            if now_s >= until_s:
                del self.leases[block]
                self.expired += 1
        assert len(self.leases) < BLOCKS
        while self._next % BLOCKS in self.leases:
            self._next += 1
        block = self._next % BLOCKS
        self._next += 1
        self.prompts[block] = prompt
        if request_id is not None:
            self.leases[block] = (request_id, now_s + self.lease_s)
        return block

    def read(self, block: int, request_id: str) -> str:
        """Return what the block holds now, and end its lease."""
        lease = self.leases.get(block)
        if lease is None or lease[0] != request_id or time.monotonic() >= lease[1]:
            self.after_expiry += 1
        else:
            del self.leases[block]
        return self.prompts[block]


@dataclass
class Prefiller(EchoUpstream):
    """Answers with transfer parameters if asked for them."""

    memory: KvMemory = field(default_factory=KvMemory)
    params: dict[str, Any] = field(default_factory=dict)
    """Replaces parts of the parameters."""

    def routes(self) -> list[Route]:
        return [*super().routes(), Route("/metrics", self._metrics, methods=["GET"])]

    async def _metrics(self, _request: Request) -> Response:
        lines = [
            *("vllm:num_requests_waiting 0", "vllm:num_requests_running 0", "vllm:kv_cache_usage_perc 0"),
            f"vllm:nixl_num_kv_expired_reqs_total {self.memory.expired}",
            f"vllm:nixl_num_notifications_after_expiry_total {self.memory.after_expiry}",
        ]
        return PlainTextResponse("\n".join(lines) + "\n")

    async def _chat(self, request: Request) -> Response:
        body = json.loads(await request.body())
        wanted = body.get("kv_transfer_params")
        number = f"chatcmpl-{len(self.requests)}"
        block = self.memory.write(echo(body)["content"], number if wanted else None)
        answer = await super()._chat(request)
        if not wanted or answer.status_code != 200:
            return answer
        params = {
            "do_remote_prefill": True,
            "do_remote_decode": False,
            "remote_block_ids": [[block]],
            "remote_engine_id": "engine-p",
            "remote_request_id": number,
            "remote_host": "127.0.0.1",
            "remote_port": 5600,
            "tp_size": 1,
            "transfer_mode": "pull",
            **self.params,
        }
        return JSONResponse({**json.loads(bytes(answer.body)), "kv_transfer_params": params})


@dataclass
class Decoder(EchoUpstream):
    """Reads the prompt from the prefiller's memory if the request has transfer parameters."""

    surfaces: ClassVar[tuple[str, ...]] = ("chat.completions", "completions", "messages", "responses")
    prefiller: Prefiller = field(default_factory=Prefiller)

    async def _chat(self, request: Request) -> Response:
        params = json.loads(await request.body()).get("kv_transfer_params")
        if params and params["remote_engine_id"] != "engine-p":
            await self.got(request)
            return JSONResponse({"error": {"message": "KV load failed", "type": "x"}}, 500)
        self.script.message = self._said
        return await super()._chat(request)

    def _said(self, body: dict[str, Any]) -> dict[str, Any]:
        if not (params := body.get("kv_transfer_params")):
            return echo(body)
        text = self.prefiller.memory.read(params["remote_block_ids"][0][0], params["remote_request_id"])
        return {"role": "assistant", "content": text}

    def with_params(self) -> list[dict[str, Any]]:
        """Requests that had transfer parameters."""
        return [each for each in self.requests if each.get("kv_transfer_params")]
