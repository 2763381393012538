"""Settings of `sovctl rag`: addresses and certificates of the service and the gateway, and limits of parsers.

settings = load_settings(Path("/etc/sovctl/rag.yaml"))
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, AnyHttpUrl, Field, ValidationError

from sovctl.support.errors import InputError, Problem, SpecError
from sovctl.support.strict_yaml import YamlSyntaxError, read_text

from ...settings.base.model import SettingsModel, in_words
from ...settings.base.urls import encrypted_or_local
from .parsers.extracted import Limits

_MAX_BYTES = 1 << 20
Url = Annotated[AnyHttpUrl, AfterValidator(encrypted_or_local)]


class ServiceSettings(SettingsModel):
    """The retrieval service, with the certificate of an administrator."""

    url: Url
    """Base URL, without path."""
    ca: Path | None = None
    """Certificate authority of the service."""
    certificate: Path | None = None
    """Client certificate; its common name is one of `administrators` of the service."""
    key: Path | None = None
    """Private key of the client certificate."""
    timeout_s: float = Field(300.0, gt=0, le=3_600)
    """Seconds for one request; the service embeds all chunks of a document in it."""


class GatewaySettings(SettingsModel):
    """The gateway, with the API key of a client, for `sovctl rag search`."""

    url: Url
    """Base URL, without path."""
    ca: Path | None = None
    """Certificate authority of the gateway."""
    key_file: Path
    """API key of the client, a file of mode 0600."""
    timeout_s: float = Field(60.0, gt=0, le=3_600)
    """Seconds for one request."""


class ParserSettings(SettingsModel):
    """Limits of the parser of one document."""

    user: str = Field("", max_length=32)
    """User of parser processes if sovctl runs as root; default: user id 65534."""
    file_mib: int = Field(100, ge=1, le=1_024)
    """Size of a file, MiB."""
    memory_mib: int = Field(1_024, ge=256, le=16_384)
    """Address space of a parser process, MiB."""
    cpu_s: int = Field(60, ge=1, le=3_600)
    """Processor time of a parser process, seconds."""
    wall_s: float = Field(120.0, ge=1, le=7_200)
    """Seconds until a parser process is killed."""

    def limits(self) -> Limits:
        """Return the limits of one document."""
        return Limits(
            file_bytes=self.file_mib << 20, memory_bytes=self.memory_mib << 20, cpu_s=self.cpu_s, wall_s=self.wall_s
        )


class RagSettings(SettingsModel):
    """Content of rag.yaml."""

    service: ServiceSettings | None = None
    """Needed by every command except `search`."""
    gateway: GatewaySettings | None = None
    """Needed by `search`."""
    parser: ParserSettings = ParserSettings()
    """Limits of parsers."""


def load_settings(path: Path) -> RagSettings:
    """Read and check a rag.yaml.

    Raises:
        InputError: the file is absent or not YAML.
        SpecError: all problems of the settings, each with its line.
    """
    try:
        content = path.read_bytes()[: _MAX_BYTES + 1]
    except FileNotFoundError as error:
        raise InputError("no such file", where=str(path), hint="name the settings with --config") from error
    try:
        text = read_text(content)
    except YamlSyntaxError as error:
        raise SpecError([error.placed(path)], what="the settings") from error
    problems = [text.placed(path, problem) for problem in text.problems]
    try:
        settings = RagSettings.model_validate(text.value or {})
    except ValidationError as error:
        for each in error.errors(include_url=False):
            place = ".".join(str(part) for part in each["loc"])
            problems.append(text.placed(path, Problem(in_words(each), where=place)))
    if problems:
        raise SpecError(problems, what="the settings")
    return settings
