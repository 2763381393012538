"""Where the gateway's traces go, as site.yaml has it; a part of `spec`."""

from __future__ import annotations

from typing import Annotated

from pydantic import AnyHttpUrl, Field

from .types import FilePath, SpecModel


class Tracing(SpecModel):
    """Traces of requests for an OpenTelemetry collector of the site: names, codes and times, never text."""

    endpoint: AnyHttpUrl
    """Its whole address by https, such as https://10.77.0.40:4318/v1/traces; the host is a private address, which the
    wall opens for the gateway."""
    ca_file: FilePath | None = None
    """Who signs the collector's certificate, on the controller, relative to site.yaml; the site's own authority when
    absent."""
    sample_ratio: Annotated[float, Field(gt=0, le=1)] = 0.01
    """Share of requests that are traced."""
