"""Writes responses: complete ones in one write, streams event by event."""

from __future__ import annotations

from starlette.types import Send

from ..domain.errors import Headers
from ..http.client_body import ClientBody, write_whole_answer
from ..pipeline.sending import Reply


async def send_whole(send: Send, status: int, headers: Headers, body: bytes, request_id: str) -> None:
    """Send a complete response."""
    headers += [(b"content-length", b"%d" % len(body)), *_ids(request_id)]
    if not write_whole_answer(send, status, headers, body):
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


async def send_stream(send: Send, headers: Headers, reply: Reply, request_id: str) -> None:
    """Send a stream, and close it also if the client disconnects."""
    stream = reply.content
    assert not isinstance(stream, bytes)
    headers += _ids(request_id)
    try:
        body, has_begun = ClientBody.of(send), False
        async for piece in stream.pieces(body):
            if not has_begun:
                has_begun = True
                if body is not None and body.begin(reply.status, headers, piece):
                    piece = b""
                else:
                    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
            if stream.is_over and body is not None:
                body.end(piece)
            if piece or stream.is_over:
                await send({"type": "http.response.body", "body": piece, "more_body": not stream.is_over})
            if body is not None and body.has_left:
                return
    finally:
        await stream.close()


def _ids(request_id: str) -> Headers:
    """Return the request id in sovctl's header, and in the headers of OpenAI's and Anthropic's clients."""
    value = request_id.encode()
    return [(b"x-sovctl-request-id", value), (b"x-request-id", value), (b"request-id", value)]
