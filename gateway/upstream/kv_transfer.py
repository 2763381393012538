"""Bodies of requests that use the KV cache of another server, and answers without its parameters. Pure.

vLLM's NixlConnector (pull) needs two requests: the first one computes the prompt's cache and answers with parameters,
the second one contains them and reads the cache. Parameters name memory of a server: used late or twice they read
another request's prompt, and the answer has status 200. Therefore clients can neither send nor see them.

    body = transferable(path, data)                 # None: the request is served without a transfer
    first = prefill_body(body, model="chat-prefill")
    params = params_in(answer_to_first)
    second = decode_body(body, params, cache_salt=salt)

Source: vLLM 0.32.0, `distributed/kv_transfer/kv_connector/v1/nixl/pull_scheduler.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from ..body import exact_json
from ..body.sse import DONE, Framer, event
from ..domain.errors import UpstreamFailed
from ..settings.traffic.request_fields import TRANSFER_FIELDS

PARAMS = "kv_transfer_params"
_PATHS = frozenset({"chat/completions", "completions"})
# Requests of several sequences would use the parameters several times. Log-probabilities of the prompt need a prompt
# that is computed here. A negative truncation depends on `max_tokens`, which differs between the two requests.
_ONLY: Mapping[str, tuple[Any, ...]] = {
    "n": (None, 1),
    "best_of": (None, 1),
    "use_beam_search": (None, False),
    "echo": (None, False),
    "prompt_logprobs": (None,),
    "truncate_prompt_tokens": (None,),
}
_OF_THE_ANSWER = frozenset({"stream_options", "min_tokens", "stream_interval"})
_TEXTS = ("remote_engine_id", "remote_request_id", "remote_host")
_KEYS = tuple(f'"{name}"'.encode() for name in sorted(TRANSFER_FIELDS))
_ENVELOPES = ("response", "message")  # of events that contain a whole answer


def transferable(path: str, data: bytes) -> dict[str, Any] | None:
    """Return the body of a request of one sequence; None for requests that cannot use a transferred cache.

    Args:
        path: below `/v1`.
    """
    if path not in _PATHS:
        return None
    body = exact_json.loads(data)
    if not isinstance(body, dict) or any(body.get(name) not in values for name, values in _ONLY.items()):
        return None
    if path == "completions":
        prompt = body.get("prompt")
        is_one = isinstance(prompt, str) or (isinstance(prompt, list) and all(type(each) is int for each in prompt))
        return body if is_one and prompt else None
    return body


def prefill_body(body: Mapping[str, Any], *, model: str) -> bytes:
    """Return the request that computes the cache: the same prompt, and an answer of one token."""
    kept = {name: value for name, value in body.items() if name not in _OF_THE_ANSWER}
    if "max_completion_tokens" in kept:
        kept["max_completion_tokens"] = 1
    params = {"do_remote_decode": True, "do_remote_prefill": False}
    return exact_json.dumps({**kept, "model": model, "max_tokens": 1, "stream": False, PARAMS: params})


def params_in(answer: bytes) -> dict[str, Any] | None:
    """Return the parameters in the answer to `prefill_body`; None without usable ones."""
    try:
        found = orjson.loads(answer)
    except orjson.JSONDecodeError:
        return None
    params = found.get(PARAMS) if isinstance(found, dict) else None
    if (
        not isinstance(params, dict)
        or params.get("do_remote_prefill") is not True
        or not params.get("remote_block_ids")
    ):
        return None
    is_complete = all(isinstance(params.get(name), str) and params[name] for name in _TEXTS)
    return params if is_complete and type(params.get("remote_port")) is int else None


def decode_body(body: Mapping[str, Any], params: Mapping[str, Any], *, cache_salt: str) -> bytes:
    """Return the request that reads the cache.

    Args:
        cache_salt: of this transfer alone, so that no other request finds the transferred blocks in the prefix cache.
    """
    return exact_json.dumps({**body, PARAMS: params, "cache_salt": cache_salt})


class WithoutParams:
    """Decoder that removes transfer parameters from answers, streamed or not.

    Args:
        max_event_bytes: limit of an event.
    """

    def __init__(self, *, max_event_bytes: int) -> None:
        self._framer = Framer(max_event_bytes=max_event_bytes)

    def feed(self, data: bytes) -> bytes:
        """Return the complete events in a part of a stream, without parameters.

        Raises:
            EventTooLarge: an event is too large.
            UpstreamFailed: an event with parameters is not JSON.
        """
        return b"".join(event(_stripped(each)) for each in self._framer.feed(data))

    def whole(self, data: bytes) -> bytes:
        """Return an answer that is not streamed, without parameters.

        Raises:
            UpstreamFailed: it has parameters and is not JSON.
        """
        return _stripped(data)


def _stripped(data: bytes) -> bytes:
    # JSON escapes quotation marks in strings, so text of the model does not contain these bytes.
    if data == DONE or not any(key in data for key in _KEYS):
        return data
    try:
        answer = exact_json.loads(data)
    except orjson.JSONDecodeError:
        raise UpstreamFailed("protocol") from None
    for each in (answer, *(answer.get(name) for name in _ENVELOPES)) if isinstance(answer, dict) else ():
        if isinstance(each, dict):
            for name in TRANSFER_FIELDS:
                each.pop(name, None)
    return exact_json.dumps(answer)
