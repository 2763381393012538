"""Settings of a screen: a local model that classifies texts, for example as a prompt injection or a jailbreak."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from ..base.model import Name, SettingsModel


class ScreenedText(StrEnum):
    """Texts of a request, by the role of their author."""

    USER = "user"  # messages of a user, prompts, inputs, queries; the role of all other texts
    TOOL = "tool"  # results and definitions of tools
    DOCUMENT = "document"  # documents, passages, text files
    SYSTEM = "system"  # system and developer messages, instructions
    ASSISTANT = "assistant"  # earlier answers, tool calls


class ScreenAction(StrEnum):
    """Action for a request with a text that a screen flags."""

    ALLOW = "allow"  # recorded only
    STAY = "stay"  # processed on-prem
    BLOCK = "block"  # rejected


Label = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$")]
Threshold = Annotated[float, Field(gt=0, le=1)]


class ScreenSettings(SettingsModel):
    """A screen."""

    name: Name
    """Name in audit records, metrics and reasons."""
    kind: Literal["onnx"]
    """Type of the model folder: `model.onnx` (sequence classifier), `tokenizer.json` and `config.json`. It needs
    `detect.model_packages`."""
    path: Path
    """Path of the folder."""
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    """SHA-256 of the folder's list of files; see `gateway/detect/models/digest.py`."""
    labels: Annotated[dict[Label, Threshold], Field(min_length=1, max_length=50)]
    """Minimum score by label that flags a text, such as `{INJECTION: 0.9}`; other labels are ignored."""
    texts: Annotated[list[ScreenedText], Field(min_length=1)] = Field(
        default_factory=lambda: [ScreenedText.USER, ScreenedText.TOOL, ScreenedText.DOCUMENT]
    )
    """Texts that the screen reads, by the role of their author."""
    action: ScreenAction = ScreenAction.STAY
    """Action for flagged requests: `allow` records only, `stay` processes them on-prem, `block` rejects them."""
    routes: dict[str, ScreenAction] = Field(default_factory=dict)
    """Actions by route (the model name of clients), instead of `action`."""
    timeout_s: Annotated[float, Field(gt=0, le=300)] = 5.0
    """Seconds for one request, including queueing. After the timeout, the request is processed on-prem, or
    rejected if the action is `block`."""
    max_queue: Annotated[int, Field(ge=1, le=10_000)] = 16
    """Maximum queued and running requests per worker; further requests are treated as after a timeout."""

    def action_on(self, route: str) -> ScreenAction:
        """Return the action on a route."""
        return self.routes.get(route, self.action)
