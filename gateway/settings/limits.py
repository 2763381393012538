"""Ceilings."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .model import SettingsModel


class Limits(SettingsModel):
    """Ceilings, so that one request can't take the gateway down."""

    max_body_bytes: Annotated[int, Field(ge=1024, le=1 << 28)] = 8 << 20
    """Larger requests are refused; chosen above the longest prompt of a 1 M token context in plain English."""
    max_upload_bytes: Annotated[int, Field(ge=1024, le=1 << 28)] = 26 << 20
    """Larger forms with files are refused; vLLM takes recordings of up to 25 MB (docs of 0.32, read 2026-11)."""
    max_depth: Annotated[int, Field(ge=8, le=200)] = 64
    """JSON nesting; corp-llm-gateway refuses past the same depth (read 2026-11)."""
    max_event_bytes: Annotated[int, Field(ge=1024, le=1 << 26)] = 1 << 20
    """One server-sent event of an upstream."""
    max_answer_bytes: Annotated[int, Field(ge=1024, le=1 << 28)] = 32 << 20
    """An answer that is not streamed."""
    max_restores: Annotated[int, Field(ge=1, le=1_000_000)] = 4096
    """Different values in one answer; further tokens stay tokens. More than a page of anything holds, and far less than
    a tenant's customers, whose tokens somebody may ask for one after the other (guess, 2026-11)."""
    request_timeout_s: Annotated[float, Field(gt=0, le=7200)] = 600.0
    """Until an answer has begun, over all attempts; a client may ask for less. The openai client waits as long when
    it is not told otherwise (2.x, read 2026-11)."""
    drain_s: Annotated[int, Field(ge=1, le=600)] = 30
    """How long running answers may finish after SIGTERM."""
