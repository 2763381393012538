"""Key files, error bodies and the log."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sovctl.compliance.errors import InputError
from sovctl.gateway import log
from sovctl.gateway.errors import Code, Refused, error_body
from sovctl.gateway.keyfiles import read_key


@pytest.mark.parametrize("content", ["", "00" * 31, "00" * 33, "zz" * 32])
def test_a_key_that_is_none_is_refused_without_its_content(tmp_path: Path, content: str) -> None:
    path = tmp_path / "key"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(InputError) as caught:
        read_key(path)
    assert not content or content not in str(caught.value)


def test_every_reason_code_has_an_answer_in_openai_s_shape() -> None:
    for code in Code:
        error = json.loads(error_body(code, request_id="r"))["error"]
        assert error["code"] == code.value
        assert error["sovctl"] == {"reason": code.value, "request_id": "r"}
        assert {"message", "type", "param"} <= error.keys()
        assert 400 <= Refused(code).status <= 504


def test_every_reason_code_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs/gateway.md").read_text()
    for code in Code:
        assert re.search(rf"\| `{code.value}` \| {Refused(code).status} \|", page), code


def test_an_error_is_logged_without_its_message() -> None:
    try:
        raise ValueError("anna@example.com")
    except ValueError as error:
        said = log.describe(error)
    assert said.startswith("ValueError at test_errors_and_log.py:")
    assert "anna" not in said
