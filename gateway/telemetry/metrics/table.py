"""Definitions of all metrics: names, labels, bounds.

Labels are names from the settings (model, upstream) and fixed words (surface, route, status, reason, kind, outcome).
`route` is `pool` or `cloud`, as in the header `x-sovctl-route`; `model` is the name that clients send.

    metrics = Metrics()
    metrics.requests.add("chat.completions", "assistant", "cloud", "200")
    metrics.inter_token_s.at("chat.completions", "assistant").observe(0.021)
"""

from __future__ import annotations

from .families import Counter, Family, Gauge, Histogram

PREFIX = "sovctl_gateway_"
_STANDARD = "gen_ai_"
"""Prefix of metrics of OpenTelemetry's conventions, named as its Prometheus exporter names them; see `gen_ai`."""

# Bounds in seconds (guess, 2026-11), around the target of each measurement.
_OURS_S = (
    0.0005,
    0.001,
    0.002,
    0.005,
    0.01,
    0.02,
    0.05,
    0.1,
    0.25,
    1.0,
)  # the budget: 1 ms at the median, a few at p99
_DISK_S = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5)  # an fsync: 0.1 ms NVMe, 10 ms a busy disk
_ANSWER_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 5.0, 10.0, 30.0)  # voice 1.5 s, text 2 s, heavy 5 s
_TOKEN_S = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)  # reading speed: some 0.05 s a token
# Bounds of the conventions (gen-ai-metrics.md, see `gen_ai`).
_OPERATION_S = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_USED_TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
_MODEL = ("gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model")
_QUEUE_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)  # the default timeout is 60 s
_HOLD_S = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)  # of a sentence that is checked before it is released


class Metrics:
    """All metrics of one process."""

    def __init__(self) -> None:
        self.requests = Counter(
            "requests_total",
            "Answered requests, by route (pool, cloud) and status.",
            "surface",
            "model",
            "route",
            "status",
        )
        self.refused = Counter("refused_total", "Rejected requests, by reason code.", "reason")
        self.findings = Counter("findings_total", "Identifiers found in requests, by entity type.", "kind")
        self.listed_hits = Counter(
            "listed_hits_total",
            "Listed names and numbers found in requests, by outcome: counted, or over the budget of a key.",
            "outcome",
        )
        self.tokens = Counter(
            "tokens_total",
            "Tokens in answers, by outcome: restored, withheld, unknown, malformed, capped.",
            "outcome",
        )
        self.finder_failures = Counter(
            "finder_failures_total",
            "Requests that a model of the site, a screen or the LLM review failed to read, by cause.",
            "finder",
            "cause",
        )
        self.screened = Counter(
            "screened_total",
            "Requests that a screen read, by the label that flags them; `none` without one.",
            "screen",
            "label",
        )
        self.upstream_failures = Counter(
            "upstream_failures_total", "Failed attempts, by upstream and cause.", "upstream", "cause"
        )
        self.release_checks = Counter(
            "release_checks_total",
            "Answers that a release check judged, by its worst verdict: PASS, WARN, FAIL, UNKNOWN.",
            "model",
            "check",
            "verdict",
        )
        self.handoffs = Counter(
            "handoffs_total",
            "Hand-offs, by outcome: made, refused, taken, resolved, expired.",
            "outcome",
        )
        self.webhook_calls = Counter(
            "handoff_webhook_calls_total", "Calls of the webhook for hand-offs, by outcome: heard, failed.", "outcome"
        )
        self.handoffs_open = Gauge("handoffs_open", "Hand-offs that are waiting or taken.", together="max")
        self.bad_answers = Counter(
            "bad_answers_total",
            "Invalid answers followed by another upstream, by fault: empty, truncated, unknown-tool, invalid-json.",
            "model",
            "upstream",
            "fault",
        )
        self.shadow_choices = Counter(
            "shadow_choices_total",
            "Choices of the shadow heuristic, by estimated complexity, with the upstream that was used first.",
            "model",
            "complexity",
            "would",
            "asked",
        )
        self.hedges = Counter(
            "hedges_total", "Requests that were also sent to a second server because the first was slow.", "upstream"
        )
        self.kv_transfers = Counter(
            "kv_transfers_total",
            "Requests to a pool with prefill, by outcome: transferred, short, not-transferable, prefill-unavailable,"
            " prefill-failed, expired, late, decode-failed. All but the first are served without a transfer.",
            "upstream",
            "outcome",
        )
        self.stale_kv_reads = Counter(
            "stale_kv_reads_total",
            "Increases of a prefilling server's counters of expired leases and of reads after them.",
            "upstream",
            "kind",
        )
        self.fallbacks = Counter("fallbacks_total", "Requests that another upstream than the first one answered.")
        self.reloads = Counter(
            "reloads_total", "Reloads of the settings, by outcome: applied, unchanged, refused.", "outcome"
        )
        self.realtime_sessions = Gauge("realtime_sessions", "Open sessions of realtime transcription.")
        self.realtime_utterances = Counter(
            "realtime_utterances_total",
            "Utterances of realtime transcription, by reason of their end: answered, client-left or a reason code.",
            "reason",
        )
        self.in_flight = Gauge("in_flight_requests", "Requests in progress.")
        self.queue_waiting = Gauge(
            "queue_waiting_requests", "Requests that wait for a turn of `limits.max_concurrent_requests`."
        )
        self.queue_waiting_tenants = Gauge(
            "queue_waiting_tenants",
            "Tenants with waiting requests; with several workers, the highest number of one of them.",
            together="max",
        )
        self.queue_longest_wait_s = Gauge(
            "queue_longest_wait_seconds", "Time that the oldest waiting request has waited.", together="max"
        )
        self.reload_failed = Gauge(
            "reload_failed",
            "1 while the files contain settings that were rejected.",
            together="max",
        )
        self.remembered_bytes = Gauge("remembered_bytes", "Memory for findings of earlier requests.")
        self.workers = Gauge("workers", "Worker processes included in these figures.")
        self.queue_wait_s = Histogram(
            "queue_wait_seconds",
            "Time that a request waited for its turn, by outcome: turn, timeout, left; requests without a wait are not"
            " counted.",
            _QUEUE_S,
            "outcome",
        )
        self.added_s = Histogram(
            "added_seconds", "Time from the complete request to the first byte sent upstream.", _OURS_S, "surface"
        )
        self.first_byte_s = Histogram(
            "first_byte_seconds",
            "Time from sending upstream to the beginning of the answer; without streaming, to its end.",
            _ANSWER_S,
            "surface",
            "model",
            "route",
        )
        self.inter_token_s = Histogram(
            "inter_token_seconds", "Time between two chunks of a streamed answer.", _TOKEN_S, "surface", "model"
        )
        self.release_hold_s = Histogram(
            "release_hold_seconds", "Time that an event of a stream waited for its release checks.", _HOLD_S, "model"
        )
        self.operation_s = Histogram(
            "gen_ai_client_operation_duration_seconds",
            "Time of a call to a model, to the end of its answer; error_type is empty for a complete answer.",
            _OPERATION_S,
            *_MODEL,
            "error_type",
        )
        self.first_chunk_s = Histogram(
            "gen_ai_client_operation_time_to_first_chunk_seconds",
            "Time from a call to a model to the first event of its stream.",
            _OPERATION_S,
            *_MODEL,
        )
        self.token_usage = Histogram(
            "gen_ai_client_token_usage",
            "Tokens of calls to a model that reported them, by type: input, output.",
            _USED_TOKENS,
            *_MODEL,
            "gen_ai_token_type",
        )
        self.vault_commit_s = Histogram("vault_commit_seconds", "Time until values were durable.", _DISK_S)
        self.ledger_commit_s = Histogram("ledger_commit_seconds", "Time until an audit record was durable.", _DISK_S)
        self.workers.put(1)

    @property
    def families(self) -> dict[str, Family]:
        """All metrics by name."""
        return {family.name: family for family in vars(self).values() if isinstance(family, Family)}


def full_name(family: Family) -> str:
    """Return the name of a metric as it is exported."""
    return family.name if family.name.startswith(_STANDARD) else PREFIX + family.name
