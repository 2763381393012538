"""Where operators reach the gateway: a listener of its own."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .listen import Listen


class AdminListen(Listen):
    """The admin surface: the operator page, its API, metrics. Apart from the clients' port, on this machine only unless
    said otherwise; then with TLS."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=1, le=65535)] = 9443
    session_s: Annotated[int, Field(ge=60, le=86_400)] = 3600
    """How long an operator stays logged in to the page."""
