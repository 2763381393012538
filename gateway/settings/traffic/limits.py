"""Limits of the size and duration of requests and answers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..base.model import Name, SettingsModel
from .realtime import RealtimeLimits


class Limits(SettingsModel):
    """Limits that keep one request from exhausting the gateway's resources."""

    max_body_bytes: Annotated[int, Field(ge=1024, le=1 << 28)] = 8 << 20
    """Maximum request body in bytes; above the longest English prompt of a context of 1,000,000 tokens."""
    max_upload_bytes: Annotated[int, Field(ge=1024, le=1 << 28)] = 26 << 20
    """Maximum form with files in bytes; vLLM accepts recordings of up to 25 MB (docs of 0.32, read 2026-11)."""
    max_recording_bytes: Annotated[int, Field(ge=1024, le=1 << 28)] = 25 << 20
    """Maximum bytes of a recording; 25 MiB is the default of vLLM 0.32.0 (VLLM_MAX_AUDIO_CLIP_FILESIZE_MB, read
    2026-11)."""
    max_recording_s: Annotated[int, Field(ge=1, le=86_400)] = 600
    """Maximum duration of a recording in seconds, measured by decoding; 600 s is the default of vLLM 0.32.0
    (VLLM_MAX_AUDIO_DECODE_DURATION_S, read 2026-11)."""
    realtime: RealtimeLimits = Field(default_factory=RealtimeLimits)
    max_tenant_bytes_in_flight: Annotated[int, Field(ge=1024, le=1 << 40)] = 1 << 28
    """Maximum bytes of request bodies of one tenant that a worker holds at a time; a single request is always served.
    268,435,456, the largest value of the two limits above: guess, 2026-11."""
    max_concurrent_requests: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Requests that a worker serves at a time, streams until their end. Further requests wait, and each tenant gets its
    share of the turns. Choose the concurrency of the pools divided by the number of workers. Default: no limit, and no
    queue."""
    tenant_weights: dict[Name, Annotated[int, Field(ge=1, le=1000)]] = Field(default_factory=dict)
    """Shares of tenants in `max_concurrent_requests` while requests wait. Tenants that are not listed have 1."""
    queue_timeout_s: Annotated[float, Field(gt=0, le=7200)] = 60.0
    """Seconds that a request waits for its turn; after that it is refused with 429 `tenant_busy`. 60: guess,
    2026-11."""
    max_depth: Annotated[int, Field(ge=8, le=200)] = 64
    """Maximum depth of JSON nesting; the same as in corp-llm-gateway (read 2026-11)."""
    max_work_per_mib: Annotated[int, Field(ge=10_000, le=100_000_000)] = 900_000
    """Maximum work of the inspection for each MiB of a request body; smaller bodies have that of 1 MiB. A unit is about
    a microsecond of one core (measured 2026-11). A request that exceeds it is rejected with `too_much_work`."""
    max_remembered_bytes: Annotated[int, Field(ge=0, le=1 << 36)] = 64 << 20
    """Most memory of a worker for what was found in earlier requests, in bytes; 0 turns it off. It contains no text and
    no value. A message needs about 600 bytes (measured 2026-11)."""
    max_answers: Annotated[int, Field(ge=1, le=16_384)] = 16
    """Maximum `n` and `best_of` of a request; as VLLM_MAX_N_SEQUENCES of a site's pools (CVE-2026-34756)."""
    max_logprobs: Annotated[int, Field(ge=0, le=1_000_000)] = 20
    """Maximum log probabilities of a token; the default of vLLM 0.32, and the maximum of OpenAI (read 2026-11)."""
    max_event_bytes: Annotated[int, Field(ge=1024, le=1 << 26)] = 1 << 20
    """Maximum size of one server-sent event of an upstream in bytes."""
    max_answer_bytes: Annotated[int, Field(ge=1024, le=1 << 28)] = 32 << 20
    """Maximum size of an answer that is not streamed in bytes."""
    max_restores: Annotated[int, Field(ge=1, le=1_000_000)] = 4096
    """Maximum distinct values restored in one answer; further tokens are not restored. The limit prevents listing all
    values of a tenant in one answer. 4,096: guess, 2026-11."""
    request_timeout_s: Annotated[float, Field(gt=0, le=7200)] = 600.0
    """Seconds until the first byte of the answer, over all attempts. A client may request a shorter timeout. 600 s is
    the default of the openai client (2.x, read 2026-11)."""
    announce_s: Annotated[int, Field(ge=0, le=300)] = 0
    """Seconds after SIGTERM in which `/readyz` returns 503 and requests are still served with `connection: close`, so
    that load balancers and clients use another gateway. 0: none. Kubernetes sites use a `preStop` sleep for this."""
    drain_s: Annotated[int, Field(ge=1, le=600)] = 30
    """Seconds for running answers to finish after SIGTERM and `announce_s`."""
