"""`gateway.request_fields` of site.yaml: changes of the gateway's table of request fields."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from ..types import Name, SpecModel, words

FieldName = Annotated[
    str,
    StringConstraints(pattern=r"^(chat_template_kwargs\.)?[A-Za-z_][A-Za-z0-9_]{0,63}(\[\])?$"),
    words("a field of a request such as priority, or chat_template_kwargs.NAME", kind="field"),
]
FieldAction = Literal["pass", "strip", "refuse"]
_TextSurface = Literal["chat.completions", "chat.completions.batch", "completions", "responses", "messages"]
_Speech = Literal["audio.transcriptions", "audio.translations", "realtime"]
_OtherSurface = Literal["embeddings", "rerank", "score", "tokenize"]
FieldSurface = Literal[_TextSurface, _OtherSurface, _Speech]


class RequestFieldsRow(SpecModel):
    """A change of the table of request fields. An empty selector matches everything; the last row that names a field
    applies."""

    upstreams: list[Name] = Field(default_factory=list)
    """Pools, adapters and clouds. Empty: all."""
    surfaces: list[FieldSurface] = Field(default_factory=list)
    """Client APIs. Empty: all."""
    allow: list[FieldName] = Field(default_factory=list)
    """Fields that are sent. `chat_template_kwargs.NAME` allows one switch of chat templates."""
    strip: list[FieldName] = Field(default_factory=list)
    """Fields that are removed."""
    refuse: list[FieldName] = Field(default_factory=list)
    """Fields for which a request is refused."""
    unknown: FieldAction | None = None
    """Action for fields that the table does not list. Default: `strip` for pools, `pass` for clouds."""
