"""Key files, error bodies and the log."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sovctl.gateway.domain.errors import Code, Refused, error_body
from sovctl.gateway.surfaces import SURFACES
from sovctl.gateway.telemetry import log
from sovctl.support.errors import InputError
from sovctl.support.secret_files import read_key


@pytest.mark.parametrize("content", ["", "00" * 31, "00" * 33, "zz" * 32])
def test_a_key_that_is_none_is_refused_without_its_content(tmp_path: Path, content: str) -> None:
    path = tmp_path / "key"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(InputError) as caught:
        read_key(path)
    assert not content or content not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/v1/chat/completions", {}, "model"),
        ("/v1/chat/completions", {"model": "m", "messages": "hi"}, "messages"),
        ("/v1/chat/completions/batch", {"model": "m", "messages": [{}]}, "messages"),
        ("/v1/completions", {"model": "m"}, "prompt"),
        ("/v1/responses", {"model": "m", "input": 7}, "input"),
        ("/v1/messages", {"model": "m"}, "messages"),
        ("/v1/embeddings", {"model": "m"}, "input"),
        ("/v1/embeddings", {"model": "m", "input": "x", "stream": True}, "stream"),
        ("/v1/rerank", {"model": "m", "documents": []}, "query"),
        ("/v1/rerank", {"model": "m", "query": "q"}, "documents"),
        ("/v1/audio/transcriptions", {"model": "m"}, "file"),
        ("/tokenize", {"model": "m"}, "prompt"),
        ("/detokenize", {"model": "m", "tokens": "x"}, "tokens"),
    ],
)
def test_a_field_that_is_absent_or_of_another_form_is_named(path: str, body: dict[str, Any], param: str) -> None:
    surface = SURFACES[path]
    with pytest.raises(Refused) as caught:
        surface.check(body)
    assert (caught.value.code, caught.value.param) == (Code.INVALID_REQUEST, param)
    told = json.loads(surface.error(caught.value.code, request_id="r", param=caught.value.param))["error"]
    assert f"`{param}` is absent" in told["message"]
    assert told.get("param", param) == param


def test_every_reason_code_has_an_answer_in_openai_s_shape() -> None:
    for code in Code:
        error = json.loads(error_body(code, request_id="r"))["error"]
        assert error["code"] == code.value
        assert error["sovctl"] == {"reason": code.value, "request_id": "r"}
        assert {"message", "type", "param"} <= error.keys()
        assert 400 <= Refused(code).status <= 504


def test_every_reason_code_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs/gateway.md").read_text()
    for code in Code:
        assert re.search(rf"\| `{code.value}` \| {Refused(code).status} \|", page), code


def test_an_error_is_logged_without_its_message() -> None:
    try:
        raise ValueError("anna@example.com")
    except ValueError as error:
        said = log.describe(error)
    assert said.startswith("ValueError at test_errors_and_log.py:")
    assert "anna" not in said
