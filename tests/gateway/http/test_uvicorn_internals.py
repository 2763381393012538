"""uvicorn's private state, which `gateway/http` reads and writes.

`client_body` sets fields of a `RequestResponseCycle`. `connections` overrides methods of `HttpToolsProtocol`, and
`websockets` those of `WebSocketsSansIOProtocol`. None is a public interface, so the version is pinned and their source
is compared.
"""

from __future__ import annotations

import hashlib
import inspect
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

REVIEWED = {
    HttpToolsProtocol: "18fdf324b11bf160e38739eed01a48516b460be9e88f1e20e4546e7363fd9232",
    RequestResponseCycle: "e67d470d435dcc1ce6de9773841524a4439a06afd3a7243e458dc7f7c952b310",
    WebSocketsSansIOProtocol: "0bbcec98938432f71b93ca20eea63487298f4650159242db8526a6f664902997",
    FlowControl: "126debcdaa894c83ed9491b41cb3b99c97469f00520f2483d2a5d1f53de91fa4",
}
"""SHA-256 of each class's source in the version that gateway/http was reviewed against."""


@pytest.mark.parametrize("private", REVIEWED, ids=lambda each: each.__name__)
def test_private_class_is_the_reviewed_one(private: type[Any]) -> None:
    found = hashlib.sha256(inspect.getsource(private).encode()).hexdigest()
    assert found == REVIEWED[private], f"compare {private.__name__} with gateway/http, then update the digest"


def test_the_version_is_pinned() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert f"uvicorn=={version('uvicorn')}" in project["optional-dependencies"]["gateway"]
