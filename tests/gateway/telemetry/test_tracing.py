"""What a trace may say, and which requests are traced."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from otlp_receiver import OtlpReceiver
from pydantic import ValidationError

from sovctl.gateway.settings import TracingSettings
from sovctl.gateway.telemetry.tracing import ATTRIBUTES, Tracing, allowed, span

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"  # W3C Trace Context, 3.2.3


def test_without_settings_nothing_of_opentelemetry_is_imported() -> None:
    code = (
        "import sys, sovctl.gateway.runtime.components; "
        "print([name for name in sys.modules if 'opentelemetry' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


NAMES = st.sampled_from([*ATTRIBUTES, "text", "prompt"]) | st.text()


@given(st.dictionaries(NAMES, st.text() | st.integers() | st.none()))
def test_only_allowed_attributes_are_exported(attributes: dict[str, Any]) -> None:
    types = dict(ATTRIBUTES.values())
    for name, value in allowed(attributes).items():
        assert type(value) is types[name]
        assert not isinstance(value, str) or not any(character.isspace() for character in value)


def trace(receiver: OtlpReceiver, traceparent: str | None, *, ratio: float = 1.0) -> bool:
    """Trace one request; whether it was sampled."""

    async def main() -> bool:
        tracing = Tracing(TracingSettings(endpoint=receiver.url, sample_ratio=ratio), site="lab")  # type: ignore[arg-type]
        made = tracing.begin(traceparent)
        if made is not None:
            with pytest.raises(ValueError, match="secret"), span(made, "detect", {"findings": 2, "text": "secret"}):
                raise ValueError("secret words")
            made.end({"status": 200, "model": "assistant", "reason": "two words"})
        await tracing.close()
        return made is not None

    return asyncio.run(main())


def test_a_trace_is_sent_whole_with_allowed_words_only() -> None:
    with OtlpReceiver() as receiver:
        assert trace(receiver, None)
        detect, request = receiver.spans()
        assert (request.name, request.parent_id, detect.parent_id) == ("request", "", request.span_id)
        assert request.attributes == {"http.response.status_code": 200, "gen_ai.request.model": "assistant"}
        assert detect.attributes == {
            "sovctl.findings": 2,
            "sovctl.reason": "ValueError",
            "error.type": "ValueError",
        }
        assert b"secret" not in b"".join(receiver.raw)


def test_a_clients_trace_is_taken_up() -> None:
    with OtlpReceiver() as receiver:
        assert trace(receiver, PARENT)
        request = receiver.spans()[-1]
        assert (request.trace_id, request.parent_id) == (PARENT[3:35], PARENT[36:52])


NON_NAMES = "00-" + "0" * 32 + "-" + "0" * 16 + "-01"


@pytest.mark.parametrize("wrong", ["", NON_NAMES, PARENT.upper(), PARENT + "x", "é" * 55])
def test_invalid_traceparent_starts_a_new_trace(wrong: str) -> None:
    with OtlpReceiver() as receiver:
        assert trace(receiver, wrong)
        assert receiver.spans()[-1].parent_id == ""


def test_the_draw_goes_by_the_traces_id() -> None:
    with OtlpReceiver() as receiver:
        low, high = ("00-" + "ab" * 9 + digits * 14 + "-b7ad6b7169203331-01" for digits in ("0", "f"))
        assert trace(receiver, low, ratio=0.001)
        assert not trace(receiver, high, ratio=0.999)


def test_a_collector_outside_is_asked_by_https_alone() -> None:
    with pytest.raises(ValidationError, match="https"):
        TracingSettings(endpoint="http://10.0.0.1:4318/v1/traces")  # type: ignore[arg-type]
