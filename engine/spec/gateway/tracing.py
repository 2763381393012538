"""`gateway.tracing` of site.yaml: destination of traces."""

from __future__ import annotations

from typing import Annotated

from pydantic import AnyHttpUrl, Field

from ..types import FilePath, SpecModel


class Tracing(SpecModel):
    """Traces of requests for the site's OpenTelemetry collector. They contain names, codes and times, and no text."""

    endpoint: AnyHttpUrl
    """https URL of the collector, such as https://10.77.0.40:4318/v1/traces. The host is a private address; the
    firewall opens it for the gateway."""
    ca_file: FilePath | None = None
    """CA of the collector's certificate, on the controller, relative to site.yaml. Default: the site's CA."""
    sample_ratio: Annotated[float, Field(gt=0, le=1)] = 0.01
    """Fraction of requests that are traced."""
