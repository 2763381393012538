"""The admin surface of running gateways: who may, what comes back, what is recorded."""

from __future__ import annotations

import http.client
import json
import re
import resource
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from access_givens import entry
from admin_givens import ADMIN, CALLER, admin_port, ask, begin
from clients_digests import replace_clients
from loopback_ports import unused_port
from waiting import until

EMAIL = "anna@example.com"
PROMPT = f"Please write to {EMAIL} today."


@pytest.fixture(scope="module")
def gateway(start: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    return begin(start, tmp_path_factory.mktemp("operated"), workers=2)


def chat(gateway: Any, model: str = "assistant") -> None:
    messages = [{"role": "user", "content": PROMPT}]
    gateway.client(CALLER).chat.completions.create(model=model, messages=messages, max_tokens=9)


def login(gateway: Any, key: str = ADMIN) -> tuple[str, str]:
    """Cookie and form token."""
    status, headers, _ = ask(gateway, "POST", "/login", form={"key": key})
    assert status == 303, headers
    cookie = headers["set-cookie"].partition(";")[0]
    page = ask(gateway, "GET", "/", headers={"Cookie": cookie})[2]
    found = re.search(r'name="form_token" value="([^"]+)"', page)
    assert found
    return cookie, found[1]


def status_of(gateway: Any) -> dict[str, Any]:
    code, _, body = ask(gateway, "GET", "/api/status", key=ADMIN)
    assert code == 200
    status: dict[str, Any] = json.loads(body)
    return status


@pytest.mark.parametrize("path", ["/", "/main", "/api/status", "/actions/reload"])
def test_admin_surface_requires_an_admin(gateway: Any, path: str) -> None:
    method = "POST" if path.startswith("/actions") else "GET"
    for key in (None, "wrong", CALLER):
        code, _, body = ask(gateway, method, path, key=key)
        assert code == 401
        assert "branch" not in body
    assert ask(gateway, method, path, headers={"Cookie": "sovctl_admin=x.y"})[0] == 401


def test_status_contains_no_request_text(gateway: Any) -> None:
    for model in ("assistant", "inside"):
        chat(gateway, model)
    status = until(lambda: told(gateway), "both decisions")
    assert status["is_ready"]
    assert {row["model"]: (row["pool"], row["cloud"]) for row in status["routes"]}["inside"] == ("chat", None)
    assert {row["name"]: row["state"] for row in status["upstreams"]} == {"chat": "up", "sovereign-cloud": "up"}
    decisions = {row["model"]: row for row in status["decisions"]}
    assert decisions["assistant"]["entity_types"] == {"EMAIL": 1}
    assert (decisions["assistant"]["upstream"], decisions["assistant"]["status"]) == ("sovereign-cloud", 200)
    assert {(row["subject"], row["limit"]) for row in status["budgets"]} == {
        ("client:branch", "requests_per_minute"),
        ("client:branch", "tokens_per_day"),
        ("team:cards", "tokens_per_month"),
        ("team:cards", "cost_per_day"),
    }
    assert status["findings"]["EMAIL"] >= 1
    assert status["handoffs"] is None
    cookie, _ = login(gateway)
    pages = [ask(gateway, "GET", path, headers={"Cookie": cookie})[2] for path in ("/", "/main")]
    for text in (json.dumps(status), *pages):
        assert EMAIL not in text
        assert "write to" not in text
        assert ADMIN not in text
        assert CALLER not in text


def told(gateway: Any) -> dict[str, Any] | None:
    """The status, once it has both decisions and both workers' figures."""
    status = status_of(gateway)
    ended = [row for row in status["decisions"] if row["status"] == 200]
    return status if len(ended) >= 2 and status["figures"]["answered"] >= 2 else None


def test_metrics_and_health_are_here_and_metrics_no_longer_on_the_clients_port(gateway: Any) -> None:
    code, headers, body = ask(gateway, "GET", "/metrics")
    assert code == 200
    assert headers["content-type"].startswith("text/plain")
    assert "sovctl_gateway_requests_total" in body
    assert ask(gateway, "GET", "/healthz")[0] == 200
    assert ask(gateway, "GET", "/readyz")[0] == 200
    assert ask(gateway, "HEAD", "/healthz")[::2] == (200, "")
    assert gateway.request("GET", "/metrics", headers={"Authorization": f"Bearer {ADMIN}"})[0] == 404
    assert gateway.request("GET", "/metrics", headers={})[0] == 401


def test_every_answer_keeps_other_sites_out(gateway: Any) -> None:
    for path in ("/", "/metrics", "/nothing"):
        headers = ask(gateway, "GET", path)[1]
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy


def test_the_page_has_nothing_from_anywhere_else_and_no_script_in_its_tags(gateway: Any) -> None:
    cookie, _ = login(gateway)
    page = ask(gateway, "GET", "/", headers={"Cookie": cookie})[2]
    markup = re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL)
    assert not re.search(r"\son[a-z]+\s*=", markup)
    assert not re.search(r"\bstyle\s*=", markup)
    assert not re.search(r'(?:src|href|action)="(?:https?:)?//', markup)
    assert "url(" not in page
    assert "@import" not in page


def test_a_change_needs_the_form_of_this_page_or_a_key(gateway: Any) -> None:
    cookie, token = login(gateway)
    with_cookie = {"Cookie": cookie}
    assert ask(gateway, "POST", "/actions/reload", form={}, headers=with_cookie)[0] == 403
    assert ask(gateway, "POST", "/actions/reload", form={"form_token": "x"}, headers=with_cookie)[0] == 403
    code, headers, _ = ask(gateway, "POST", "/actions/reload", form={"form_token": token}, headers=with_cookie)
    assert (code, headers["location"]) == (303, "../?done=reload")
    page = ask(gateway, "GET", "/?done=reload", headers=with_cookie)[2]
    assert "Every worker reads its settings again" in page
    assert "forged" not in ask(gateway, "GET", "/?done=forged", headers=with_cookie)[2]
    code, _, body = ask(gateway, "POST", "/actions/reload", body={}, key=ADMIN)
    assert (code, json.loads(body)["done"]) == (200, "reload")
    assert ask(gateway, "POST", "/actions/nothing", body={}, key=ADMIN)[0] == 404
    assert ask(gateway, "POST", "/actions/take", body={"id": "x"}, key=ADMIN)[0] == 404  # nobody hands anything off


def test_cross_site_login_is_rejected(gateway: Any) -> None:
    headers = {"Origin": "https://evil.example"}
    assert ask(gateway, "POST", "/login", form={"key": ADMIN}, headers=headers)[0] == 401


def test_the_cookie_is_kept_from_scripts_and_other_sites_and_ends_with_the_logout(gateway: Any) -> None:
    _, headers, _ = ask(gateway, "POST", "/login", form={"key": ADMIN})
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(headers["set-cookie"].split("; "))
    cookie, token = login(gateway)
    code, headers, _ = ask(gateway, "POST", "/logout", form={"form_token": token}, headers={"Cookie": cookie})
    assert (code, "Max-Age=0" in headers["set-cookie"]) == (303, True)


def test_key_without_admin_permission_is_rejected(gateway: Any) -> None:
    for key in (CALLER, "wrong", ""):
        code, headers, body = ask(gateway, "POST", "/login", form={"key": key})
        assert code == 401
        assert "set-cookie" not in headers
        assert "does not open this page" in body
        assert not key or f'"{key}"' not in body


def test_actions_are_recorded_before_they_are_done(gateway: Any) -> None:
    def recorded() -> list[dict[str, Any]]:
        return [each for each in gateway.records() if each["type"] == "gateway.admin"]

    before = len(recorded())
    ask(gateway, "POST", "/actions/reload", body={}, key=ADMIN)
    assert len(recorded()) == before + 1
    last = recorded()[-1]
    assert (last["action"], last["client"], last["method"]) == ("reload", "ops", "api-key")


def test_draining_fails_readiness_on_every_worker_and_still_serves(gateway: Any) -> None:
    def ready() -> set[int]:
        return {gateway.request("GET", "/readyz")[0] for _ in range(8)}

    ask(gateway, "POST", "/actions/drain", body={}, key=ADMIN)
    until(lambda: ready() == {503}, "all workers drain")
    chat(gateway)
    ask(gateway, "POST", "/actions/resume", body={}, key=ADMIN)
    until(lambda: ready() == {200}, "all workers are back")


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", "{"),
        ("application/json", "[]"),
        ("application/x-www-form-urlencoded", "key=\xff"),
        ("application/x-www-form-urlencoded", "a" * 70_000),
    ],
)
def test_invalid_request_gets_an_error(gateway: Any, content_type: str, body: str) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", admin_port(gateway), timeout=60)) as connection:
        connection.request("POST", "/login", body.encode("latin-1"), {"Content-Type": content_type})
        assert connection.getresponse().status == 400


@pytest.fixture
def own(start: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Begins a gateway for one test."""
    return lambda **changes: begin(start, tmp_path, **changes)


def test_withdrawn_admin_permission_ends_the_session(own: Callable[..., Any], tmp_path: Path) -> None:
    gateway = own()
    cookie, _ = login(gateway)
    assert ask(gateway, "GET", "/main", headers={"Cookie": cookie})[0] == 200
    replace_clients(gateway.config, json.dumps([entry("ops", ADMIN)]))
    until(lambda: ask(gateway, "GET", "/main", headers={"Cookie": cookie})[0] == 401, "the cookie is worth nothing")


def test_action_without_audit_record_is_rejected(own: Callable[..., Any]) -> None:
    gateway = own()
    entries = Path(yaml.safe_load(gateway.config.read_text())["ledger"]["directory"]) / "entries"
    full = (entries.stat().st_size, resource.RLIM_INFINITY)
    resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, full)
    assert ask(gateway, "POST", "/actions/drain", body={}, key=ADMIN)[0] == 503
    resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    until(lambda: gateway.request("GET", "/readyz")[0] == 200, "it never drained")


def test_operators_may_come_with_a_certificate_and_still_need_the_form(
    own: Callable[..., Any], pki: Any, tmp_path: Path
) -> None:
    clients = [entry("ops", ADMIN, is_admin=True, certificates=["cn:client"])]
    (tmp_path / "operators.json").write_text(json.dumps(clients))
    files = {
        "certificate_file": str(pki.certificate_file),
        "key_file": str(pki.key_file),
        "client_ca_file": str(pki.ca_file),
    }
    listen = {"port": unused_port(), "requires_client_certificate": True, **files}
    own(clients_file=str(tmp_path / "operators.json"), access={}, admin=listen)

    def asked(method: str, path: str, headers: dict[str, str], *, has_certificate: bool = True) -> int:
        context = ssl.create_default_context(cafile=pki.ca_file)
        if has_certificate:
            context.load_cert_chain(pki.client_certificate_file, pki.client_key_file)
        connection = http.client.HTTPSConnection("127.0.0.1", listen["port"], context=context, timeout=60)
        with closing(connection):
            connection.request(method, path, "", headers)
            return connection.getresponse().status

    assert asked("GET", "/api/status", {}) == 200
    assert asked("POST", "/actions/reload", {}) == 403
    assert asked("POST", "/actions/reload", {"Authorization": f"Bearer {ADMIN}"}) == 303
    with pytest.raises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
        asked("GET", "/", {}, has_certificate=False)


def test_a_port_in_use_is_said(tmp_path: Path, write_config: Callable[[Path], Path], gateway: Any) -> None:
    config = write_config(tmp_path)
    settings = yaml.safe_load(config.read_text())
    settings["admin"] = {"port": admin_port(gateway)}
    config.write_text(yaml.safe_dump(settings))
    command = [sys.executable, "-m", "sovctl.gateway", "serve", "--config", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert f"port {admin_port(gateway)} of 127.0.0.1 is taken by another program" in done.stderr


def test_the_admin_surface_outlives_the_last_answer(own: Callable[..., Any], pool: Any) -> None:
    gateway = own()
    pool.script.hold = threading.Event()
    messages = [{"role": "user", "content": "Hello"}]
    completions = gateway.client(CALLER).chat.completions
    stream = iter(completions.create(model="inside", messages=messages, stream=True, max_tokens=9))
    next(stream)
    gateway.process.send_signal(signal.SIGTERM)
    until(lambda: ask(gateway, "GET", "/readyz")[0] == 503, "it says that it drains")
    pool.script.hold.set()
    assert list(stream)
    assert gateway.process.wait(60) in (0, -signal.SIGTERM)
    with pytest.raises(OSError):
        ask(gateway, "GET", "/healthz")
