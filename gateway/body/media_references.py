"""Finds the parts of a request that make a server fetch a URL, load a tensor or read another client's cached media.

    allowed = media_urls_of(["media.bank.example"])
    find_media_problem(body["messages"], allowed)     # MediaProblem("image_url", is_url=True), or None

vLLM recognizes a part by its type or, without a type, by its keys. This module reads every object by its keys, at any
depth. Arguments of tool calls are data and are not read.

Source: vLLM 0.32.0, `renderers/chat_utils.py` and `multimodal/media/connector.py`, read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

_URLS = frozenset({"image_url", "audio_url", "video_url", "file_url"})
_TENSORS = frozenset({"image_embeds", "audio_embeds", "video_embeds", "prompt_embeds", "image_pil"})
_CACHED = "uuid"  # of an object in the cache of the server, which all its clients share
_MEDIA = _URLS | _TENSORS | {"input_audio"}
_SPECIAL = _MEDIA | {"source"}
_TOOL_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_NONE = re.compile(r"(?!)")

MediaUrls = re.Pattern[str]
"""URLs that a server may fetch."""


class MediaProblem(NamedTuple):
    """Why a request must not reach a server."""

    field: str
    is_url: bool
    """A URL that the server would fetch; otherwise a tensor or an object of the server's cache."""


def media_urls_of(hosts: Iterable[str]) -> MediaUrls:
    """Return the https URLs of these hosts.

    After the host, only a path or a query may follow: every parser reads the same host from such a URL.
    """
    names = "|".join(re.escape(host) for host in hosts)
    return re.compile(rf"https://(?:{names})(?:[/?][!-\[\]-~]*)?") if names else _NONE


def find_media_problem(content: Any, allowed: MediaUrls) -> MediaProblem | None:
    """Return the first problem in `content`; None if it refers only to media that it contains.

    Args:
        content: a value of a request, such as its messages.
        allowed: URLs that the server may fetch, in addition to `data:` URLs.
    """
    if type(content) is str:
        return None
    pending = [content]
    while pending:
        item = pending.pop()
        if type(item) is list:
            pending += [each for each in item if type(each) is dict or type(each) is list]
            continue
        if type(item) is not dict:
            continue
        kind = item.get("type")
        if not _SPECIAL.isdisjoint(item) and (problem := _problem_of(item, allowed)) is not None:
            return problem
        if type(kind) is str and kind in _TENSORS:
            return MediaProblem(kind, is_url=False)
        is_call = type(kind) is str and kind in _TOOL_CALLS
        for key, value in item.items():
            if (type(value) is dict or type(value) is list) and not (is_call and key == "input"):
                pending.append(value)
    return None


def _problem_of(part: dict[str, Any], allowed: MediaUrls) -> MediaProblem | None:
    if part.get(_CACHED) is not None and not _MEDIA.isdisjoint(part):
        return MediaProblem(_CACHED, is_url=False)
    for field in sorted(_TENSORS.intersection(part)):
        if part[field] is not None:
            return MediaProblem(field, is_url=False)
    for field in sorted(_URLS.intersection(part)):
        value = part[field]
        if not _is_allowed(value.get("url") if isinstance(value, dict) else value, allowed):
            return MediaProblem(field, is_url=True)
    source = part.get("source")  # of Anthropic's API
    if isinstance(source, dict) and not _is_allowed(source.get("url"), allowed):
        return MediaProblem("source", is_url=True)
    return None


def _is_allowed(url: Any, allowed: MediaUrls) -> bool:
    if url is None:
        return True
    if not isinstance(url, str):
        return False
    return url[:5].lower() == "data:" or allowed.fullmatch(url) is not None
