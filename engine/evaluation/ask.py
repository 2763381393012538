"""Asks a gateway of the site one question after the other, over TLS with a client key."""

from __future__ import annotations

import http.client
import json
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sovctl.support.errors import NodeUnreachable, SovctlError

TIMEOUT_S = 300.0
MAX_BYTES = 16 << 20


@dataclass(frozen=True)
class Gateway:
    """An address of the gateway, and what its clients need. The key is not part of the representation.

    Args:
        authority: PEM file of the CA of its certificate.
        model: name in requests.
    """

    address: str
    port: int
    authority: Path
    key_file: Path
    model: str

    def answer(self, question: str, *, max_tokens: int) -> tuple[str, int]:
        """Return the answer at temperature 0, and the number of its tokens.

        Raises:
            NodeUnreachable: the gateway does not answer, or its certificate is another one.
            SovctlError: it refuses the request; the message has the status only.
        """
        where = f"{self.address}:{self.port}"
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": question}],
            "temperature": 0,
            "max_tokens": max_tokens,
        }
        key = self.key_file.read_text(encoding="utf-8").strip()
        headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
        try:
            context = ssl.create_default_context(cafile=str(self.authority))
            connection = http.client.HTTPSConnection(self.address, self.port, timeout=TIMEOUT_S, context=context)
            try:
                connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
                reply = connection.getresponse()
                status, data = reply.status, reply.read(MAX_BYTES)
            finally:
                connection.close()
        except (OSError, http.client.HTTPException) as error:
            raise NodeUnreachable(f"no answer of the gateway: {type(error).__name__}", where=where) from None
        if status != 200:
            raise SovctlError(f"expected status 200 of the gateway, got {status}", where=where)
        try:
            found: Any = json.loads(data)
            text = found["choices"][0]["message"].get("content") or ""
            return str(text), int((found.get("usage") or {}).get("completion_tokens") or 0)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            raise SovctlError("expected a chat completion, got another answer", where=where) from None
