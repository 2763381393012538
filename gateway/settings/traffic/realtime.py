"""Limits of realtime transcription: sessions and their durations."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..base.model import SettingsModel


class RealtimeLimits(SettingsModel):
    """Limits of sessions of `/v1/realtime`. The audio of a session is limited as a recording is."""

    max_sessions: Annotated[int, Field(ge=1, le=10_000)] = 64
    """Maximum sessions of a worker at a time. Choose the concurrency of the pools divided by the number of workers.
    64: guess, 2026-11."""
    max_tenant_sessions: Annotated[int, Field(ge=1, le=10_000)] = 16
    """Maximum sessions of one tenant and worker at a time. 16: guess, 2026-11."""
    max_session_s: Annotated[int, Field(ge=1, le=86_400)] = 3600
    """Maximum duration of a session in seconds. 3,600: guess, 2026-11."""
    idle_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """Seconds without an event of the client, after which its session ends. 60: guess, 2026-11."""
