"""Base types of site.yaml: texts and numbers with their format, and the description of the format for messages."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, StringConstraints, WrapValidator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema


def words(text: str, *, kind: str) -> Any:
    """Return a field with the description of its format, for error messages, and its type name in docs/site-yaml.md."""
    return Field(json_schema_extra={"x-words": text, "x-kind": kind})


Name = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,30}$"),
    words("lower-case letters, digits and hyphens, a letter first, at most 31", kind="name"),
]
"""Lower-case letters, digits and hyphens, a letter first, at most 31 characters."""

CatalogId = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]{0,60}$"),
    words("lower-case letters, digits, dots and hyphens", kind="catalogue id"),
]
"""Id of a catalogue entry."""

ModelName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$"),
    words("letters, digits and . _ : / -", kind="model name"),
]
"""Model name in the OpenAI API."""

Country = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Z]{2}$"),
    words("two capital letters such as DE, ISO 3166-1 alpha-2", kind="country"),
]
"""ISO 3166-1 alpha-2."""

Language = Annotated[
    str, StringConstraints(pattern=r"^[a-z]{2}$"), words("two small letters such as en, ISO 639-1", kind="language")
]
"""ISO 639-1."""

Day = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$"), words("a day such as 2027-06-30", kind="day")]

FilePath = Annotated[
    str,
    StringConstraints(pattern=r"^[^\x00-\x1f\x7f-][^\x00-\x1f\x7f]{0,254}$"),
    words("a path, relative to site.yaml or absolute", kind="path"),
]
"""File on the controller, relative to site.yaml."""

HostName = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$"),
    words("a host in lower case, such as crm.bank.example", kind="host"),
]
"""Complete host name."""

AUTO = 0
"""Placeholder for `auto` until sizing resolves it; a loaded site contains none."""


class _OrAuto:
    """The schema of a number that may also be `auto`."""

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [handler(core_schema), {"const": "auto"}], "x-or": "auto"}


def _auto_or(value: Any, handler: Any) -> Any:
    return AUTO if value == "auto" else handler(value)


_Number = TypeVar("_Number", bound=int)
Sized = Annotated[_Number, WrapValidator(_auto_or), _OrAuto()]
"""A number above zero, or `auto`, which sizing resolves."""

Port = Annotated[int, Field(ge=1, le=65535)]


class SpecModel(BaseModel):
    """Base: frozen, and an unknown key is an error."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        allow_inf_nan=False,
        str_max_length=1024,
        defer_build=True,  # a nested model is built once, as part of its parent
    )


class Secret(SpecModel):
    """Reference to a secret; exactly one of both keys. The value is read only when used, and never printed."""

    file: FilePath | None = None
    """Path on the controller, relative to site.yaml; mode 600."""
    env: (
        Annotated[
            str,
            StringConstraints(pattern=r"^[A-Z_][A-Z0-9_]{0,127}$"),
            words("a variable such as CLOUD_KEY", kind="variable"),
        ]
        | None
    ) = None
    """Environment variable of the controller."""
