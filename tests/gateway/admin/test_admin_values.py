"""What the operator page is made of: sessions, figures, budgets and decisions, all pure."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.access.principal import Method
from sovctl.gateway.admin.actions import ACTIONS
from sovctl.gateway.admin.budgets import budgets
from sovctl.gateway.admin.decisions import joined
from sovctl.gateway.admin.figures import by_label, figures, quantile_of
from sovctl.gateway.admin.page import Pages
from sovctl.gateway.admin.session import Sealer, Session
from sovctl.gateway.settings import CallerLimits
from sovctl.gateway.telemetry.metrics import Metrics

NOON = 1_795_262_400.0
TEXTS = st.text(max_size=30)


@given(TEXTS, TEXTS, st.sampled_from(Method), st.floats(0, 1e10))
def test_session_cookie_contains_principal_and_expiry_and_cannot_be_forged(
    name: str, key_id: str, method: Method, until: float
) -> None:
    seal, session = Sealer(b"k" * 32), Session(name, key_id, method, until)
    cookie = seal.session(session)
    assert cookie.isascii()
    assert not set(cookie) & set(' ",;\\')  # RFC 6265 4.1.1
    assert seal.read(cookie, now=until - 1) == session
    assert seal.read(cookie, now=until) is None
    assert Sealer(b"o" * 32).read(cookie, now=until - 1) is None


@given(st.integers(0, 200), st.characters(codec="ascii"))
def test_a_cookie_that_was_altered_is_none(place: int, character: str) -> None:
    seal, session = Sealer(b"k" * 32), Session("ops", "key", Method.API_KEY, NOON)
    cookie = seal.session(session)
    place %= len(cookie)
    altered = cookie[:place] + character + cookie[place + 1 :]
    # The last character of base64 may carry bits that are not used; then it is the same cookie.
    assert seal.read(altered, now=NOON - 1) in (None, session)


@given(st.text(max_size=300))
def test_invalid_cookie_gives_no_session(text: str) -> None:
    assert Sealer(b"k" * 32).read(text, now=0) is None


@given(TEXTS, TEXTS, TEXTS)
def test_a_form_belongs_to_its_operator(name: str, other: str, key_id: str) -> None:
    seal = Sealer(b"k" * 32)
    token = seal.form_token(name, key_id)
    assert seal.is_form_token(name, key_id, token)
    assert seal.is_form_token(other, key_id, token) == (other == name)
    assert not seal.is_form_token(name, key_id, "")
    assert token != seal.session(Session(name, key_id, Method.API_KEY, NOON)).partition(".")[2]


BOUNDS = (1.0, 2.0, 4.0)


@given(st.lists(st.floats(0.001, 4), min_size=1, max_size=60), st.integers(1, 100))
def test_a_quantile_lies_in_the_bucket_in_which_it_must_lie(values: list[float], percent: int) -> None:
    counts = [sum(low < value <= high for value in values) for low, high in ((0, 1), (1, 2), (2, 4), (4, 9))]
    found = quantile_of(counts, BOUNDS, percent / 100)
    exact = sorted(values)[-(-percent * len(values) // 100) - 1]  # the nearest rank
    bucket = next(number for number, bound in enumerate(BOUNDS) if exact <= bound)
    assert found is not None
    assert (BOUNDS[bucket - 1] if bucket else 0) <= found <= BOUNDS[bucket]


def test_without_values_there_is_no_quantile() -> None:
    assert quantile_of([0, 0], (1.0,), 0.5) is None
    assert figures(Metrics())["added_p50_s"] is None


def test_counts_by_one_label_are_sums_the_largest_first() -> None:
    assert by_label({("a", "x"): 1, ("b", "x"): 5, ("a", "y"): 2}, 0) == {"b": 5, "a": 3}


def test_budgets_count_the_current_window_and_sort_by_usage() -> None:
    minute, today, month = int(NOON // 5), int(NOON // 86_400), 2026 * 12 + 10
    limits = {
        "team:cards": CallerLimits(tokens_per_month=1000, cost_per_day=2),
        "client:branch": CallerLimits(requests_per_minute=10, concurrent_requests=4),
    }
    used = [
        ("client:branch", "requests_per_minute", minute, 2),
        ("client:branch", "requests_per_minute", minute - 12, 3),
        ("client:branch", "requests_per_minute", minute - 13, 100),
        ("client:branch", "concurrent_requests", 0, 1),
        ("team:cards", "tokens_per_month", month, 900),
        ("team:cards", "tokens_per_month", month - 1, 5000),
        ("team:cards", "cost_per_day", today, 500_000_000),
        ("person:0f", "tokens_per_day", today, 7),
    ]
    rows = budgets(used, limits=limits, currency="EUR", now=NOON)
    assert [(row["subject"], row["limit"], row["used"], row["most"], row["unit"]) for row in rows] == [
        ("team:cards", "tokens_per_month", 900, 1000, "tokens a month"),
        ("client:branch", "requests_per_minute", 5, 10, "requests a minute"),
        ("client:branch", "concurrent_requests", 1, 4, "requests at once"),
        ("team:cards", "cost_per_day", 0.5, 2, "EUR a day"),
    ]


def record(kind: str, request_id: str, **more: Any) -> dict[str, Any]:
    return {"type": f"gateway.{kind}", "id": request_id, **more}


def test_decisions_show_their_outcome_newest_first() -> None:
    rows = joined(
        [
            record("answer", "before", status=200),
            record("request", "a", client="one", verdict="leave", upstream="cloud", reasons=["x"], request_hmac="ff"),
            record("request", "b", client="two", verdict="stay", upstream="chat", reasons=[]),
            record("policy", "c"),
            record("fallback", "a", upstream="chat", reasons=["x", "timeout:cloud"]),
            record("answer", "a", status=200, reason="answered"),
            record(
                "request", "d", client="one", verdict="block", upstream=None, reasons=["entity-type-blocked:SECRET"]
            ),
        ]
    )
    assert [(row["id"], row["upstream"], row["status"], row["ended"]) for row in rows] == [
        ("d", None, None, "refused"),
        ("b", "chat", None, None),
        ("a", "chat", 200, "answered"),
    ]
    assert rows[2]["reasons"] == ["x", "timeout:cloud"]
    assert "request_hmac" not in rows[2]


ROW = {
    "id": "0123456789",
    "since": NOON,
    "tenant": "retail",
    "model": "assistant",
    "reasons": ["citation-missing"],
    "taken_by": "ops",
}


def status(**changes: Any) -> dict[str, Any]:
    """What a page is made of."""
    return {
        "site": "lab",
        "version": "1",
        "at": NOON,
        "is_ready": True,
        "is_draining": False,
        "wrong": {},
        "policy_sha256": "0" * 64,
        "figures": figures(Metrics()),
        "routes": [],
        "upstreams": [],
        "refused": {},
        "findings": {},
        "budgets": [],
        "decisions": [],
        "handoffs": None,
        **changes,
    }


def drawn(**changes: Any) -> str:
    """The page."""
    return Pages().page(status(**changes), actions=[*ACTIONS], form_token="f", operator="ops", told="")


def test_a_section_is_there_only_when_its_provider_is() -> None:
    assert "Waiting for a person" not in drawn()
    assert "Nothing waits" in drawn(handoffs=[])
    assert "Nobody is limited" in drawn()
    assert "can&#39;t be read" in drawn(budgets=None) or "can't be read" in drawn(budgets=None)


def test_a_pool_s_queue_cache_and_ejected_servers_are_said_in_words() -> None:
    server = {"url": "a", "in_flight": 2, "state": "ejected", "running": 5, "waiting": 3, "kv_usage": 0.45}
    pool = {"name": "chat", "kind": "pool", "model": "m", "jurisdiction": None, "state": "up", "failures": 0}
    pool |= {"in_flight": 2, "running": 5, "waiting": 3, "kv_usage": 0.45, "servers": [server]}
    page = " ".join(drawn(upstreams=[pool]).split())
    assert "2 now, 5 run, 3 wait, KV 45 %" in page
    assert "slow, asked last" in page
    unknown = {"running": None, "waiting": None, "kv_usage": None}
    page = drawn(upstreams=[{**pool, **unknown, "servers": [{**server, **unknown, "state": "closed"}]}])
    assert "KV 0" not in page


def test_a_hand_off_can_be_taken_and_then_resolved() -> None:
    waiting, taken = (drawn(handoffs=[{**ROW, "state": state}]) for state in ("waiting", "taken"))
    assert 'action="actions/take"' in waiting
    assert 'action="actions/resolve"' not in waiting
    assert 'action="actions/resolve"' in taken
    assert 'action="actions/take"' not in taken


@given(st.text(min_size=1))
def test_values_are_escaped_in_html(text: str) -> None:
    hostile = f"<script>{text}</script>\"'><b"
    row = {"client": hostile, "tenant": hostile, "model": hostile, "surface": hostile, "verdict": hostile}
    row |= {"upstream": hostile, "entity_types": {hostile: 1}, "reasons": [hostile], "status": 200, "ended": hostile}
    page = drawn(
        wrong={hostile: hostile},
        decisions=[{**row, "id": hostile, "time": "2026-11-21T12:00:00.000Z"}],
        handoffs=[{**ROW, "state": "taken", "taken_by": hostile, "reasons": [hostile]}],
        refused={hostile: 1},
    )
    assert page.count("<script>") == 1
    assert "'><b" not in page
