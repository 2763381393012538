"""Settings of the operators' listener."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .listen import Listen


class AdminListen(Listen):
    """Listener of the admin surface: operator page, API and metrics. Any host other than loopback requires TLS."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=1, le=65535)] = 9443
    session_s: Annotated[int, Field(ge=60, le=86_400)] = 3600
    """Session lifetime on the operator page in seconds."""
