"""Changed settings come into force while a real gateway serves, or are refused as a whole."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import os
import queue
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
import yaml
from clients_digests import replace_clients
from echo_upstream import EchoUpstream
from waiting import until

from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.gateway.detect.findings.finding import Finding
from sovctl.gateway.detect.labels import is_cue
from sovctl.gateway.domain.errors import Code, Refused
from sovctl.gateway.runtime import reload
from sovctl.gateway.runtime.reload import LIVE, InForce, Reloader, changed_keys, live_files
from sovctl.gateway.settings import DetectSettings, GatewaySettings, load_settings
from sovctl.gateway.telemetry.metrics import Metrics

PROMPT = "Please write to anna@example.com about the transfer."


def change(path: Path, **changes: Any) -> None:
    """Write new settings as an operator's tools do: beside the file, then in its place."""
    settings = yaml.safe_load(path.read_text()) | changes
    beside = path.with_suffix(".new")
    beside.write_text(yaml.safe_dump(settings))
    beside.replace(path)


class Own:
    """The module's gateway as one test sees it: its records begin with the test, its files end as they were."""

    def __init__(self, gateway: Any) -> None:
        self.gateway = gateway
        self.config: Path = gateway.config
        self.settings = yaml.safe_load(self.config.read_text())
        self.clients_file = Path(self.settings["clients_file"])
        self.ledger = Path(self.settings["ledger"]["directory"])
        self._files = {path: path.read_text() for path in (self.config, self.clients_file)}
        self._before = len(self._every_record())

    def _every_record(self) -> list[dict[str, Any]]:
        return [dict(entry.record) for entry in LedgerReader(self.ledger).entries()]

    def records(self, kind: str = "") -> list[dict[str, Any]]:
        return [record for record in self._every_record()[self._before :] if kind in ("", record["type"])]

    def ask(self, **more: Any) -> Any:
        return self.gateway.client().chat.completions.with_raw_response.create(
            model="assistant", messages=[{"role": "user", "content": PROMPT}], **more
        )

    def answers_as_before(self) -> bool:
        try:
            answer = self.ask()
        except openai.APIStatusError:
            return False
        return answer.headers["x-sovctl-route"] == "cloud" and answer.parse().choices[0].message.content == PROMPT

    def hang_up(self) -> None:
        self.gateway.process.send_signal(signal.SIGHUP)

    def wrong(self) -> dict[str, str]:
        found: dict[str, Any] = json.loads(self.gateway.request("GET", "/readyz")[2])
        wrong: dict[str, str] = found.get(
            "wrong", {"reload": "not shown, because the clients are not those of the start"}
        )
        return wrong

    def refusal(self) -> str:
        return until(lambda: self.wrong().get("reload", ""), "the refusal")

    def metrics(self) -> str:
        text: str = self.gateway.request("GET", "/metrics")[2].decode()
        return text

    def put_back(self) -> None:
        for path, content in self._files.items():
            path.write_text(content)
        self.hang_up()
        until(lambda: "reload" not in self.wrong() and self.answers_as_before(), "the settings from before")


@pytest.fixture(name="own")
def own_fixture(gateway: Any) -> Iterator[Own]:
    own = Own(gateway)
    yield own
    own.put_back()


def test_a_changed_policy_is_recorded_and_then_in_force(own: Own, cloud: EchoUpstream, pool: EchoUpstream) -> None:
    assert own.ask().headers["x-sovctl-route"] == "cloud"
    change(own.config, policy={"default": "on-prem", "name_languages": ["en"]})
    [changed] = until(lambda: own.records("gateway.policy"), "the record of the change")
    until(lambda: own.ask().headers["x-sovctl-route"] == "pool", "the new policy")
    [*_, last] = own.records("gateway.request")
    [first, *_] = own.records("gateway.request")
    assert changed["changed"] == ["policy"]
    assert changed["previous_policy_sha256"] == first["policy_sha256"]
    assert changed["policy_sha256"] == last["policy_sha256"] != first["policy_sha256"]
    every = own.records()
    assert every.index(first) < every.index(changed) < every.index(last)
    assert 'sovctl_gateway_reloads_total{outcome="applied"}' in own.metrics()
    assert "reload" not in own.wrong()


def test_a_stream_on_its_way_ends_under_the_old_rules(own: Own, cloud: EchoUpstream) -> None:
    cloud.script.hold = threading.Event()
    stream = own.ask(stream=True).parse()
    seen = next(stream).choices[0].delta.content or ""
    change(own.config, policy={"default": "block"}, limits={"drain_s": 30})
    own.hang_up()  # at once: the upstream waits no longer than read_timeout_s
    until(lambda: own.records("gateway.policy"), "the record of the change")

    def is_blocked() -> bool:
        try:
            own.ask()
        except openai.PermissionDeniedError:
            return True
        return False

    until(is_blocked, "the new policy")
    cloud.script.hold.set()
    assert seen + "".join(chunk.choices[0].delta.content or "" for chunk in stream) == PROMPT


def test_a_bad_file_keeps_the_old_rules_and_says_so(own: Own) -> None:
    good = own.config.read_text()
    own.config.write_text("routes: [")
    assert "expected YAML" in own.refusal()
    own.config.write_text("{}")
    until(lambda: "clients_file" in own.refusal(), "every problem of the second bad file")
    assert own.gateway.request("GET", "/readyz")[0] == 200  # the old rules are sound
    assert "sovctl_gateway_reload_failed 1.0" in own.metrics()
    assert '"reload refused"' in own.gateway.log()
    assert own.answers_as_before()
    assert not own.records("gateway.policy")
    own.config.write_text(good)
    until(lambda: "reload" not in own.wrong(), "the good file")
    assert "sovctl_gateway_reload_failed 0.0" in own.metrics()


def test_what_cannot_change_live_is_named_and_nothing_of_the_file_comes_into_force(own: Own) -> None:
    vault = {**own.settings["vault"], "ttl_s": 61}
    change(own.config, policy={"default": "block"}, vault=vault, site="other")
    said = own.refusal()
    assert "a change of site, vault needs a restart" in said
    assert own.answers_as_before()
    assert not own.records("gateway.policy")


def test_a_new_client_may_call_and_a_removed_one_may_not(own: Own) -> None:
    key = "test-key-that-was-made-later"
    digest = hashlib.sha256(key.encode()).hexdigest()
    replace_clients(own.config, json.dumps([{"name": "later", "tenant": "retail", "key_sha256": digest}]))
    own.hang_up()
    until(
        lambda: own.gateway.request("GET", "/v1/models", headers={"Authorization": f"Bearer {key}"})[0] == 200,
        "the client",
    )
    with pytest.raises(openai.AuthenticationError):
        own.ask()


def test_a_signal_without_a_change_changes_nothing(own: Own) -> None:
    own.hang_up()
    until(lambda: 'reloads_total{outcome="unchanged"}' in own.metrics(), "the look at the files")
    assert not own.records("gateway.policy")
    assert own.answers_as_before()


def test_without_a_durable_record_the_old_rules_stay(own: Own) -> None:
    full, free = (own.ledger / "entries").stat().st_size, resource.RLIM_INFINITY
    resource.prlimit(own.gateway.process.pid, resource.RLIMIT_FSIZE, (full, free))
    try:
        change(own.config, policy={"default": "block"})
        assert "audit_unavailable" in own.refusal()
    finally:
        resource.prlimit(own.gateway.process.pid, resource.RLIMIT_FSIZE, (free, free))
    assert own.answers_as_before()
    own.hang_up()
    until(lambda: own.records("gateway.policy"), "the second try")


def test_callers_of_changed_teams_are_made_anew(own: Own) -> None:
    [branch, *others] = json.loads(own.clients_file.read_text())
    change(own.config, access={"teams": [{"name": "cards", "tenant": "retail", "routes": ["inside"]}]})
    replace_clients(own.config, json.dumps([{**branch, "team": "cards"}, *others]))
    own.hang_up()
    until(lambda: own.records("gateway.policy"), "the record of the change")
    assert own.records("gateway.policy")[0]["changed"] == ["clients_sha256", "access"]

    def is_denied() -> bool:
        try:
            own.ask()
        except openai.PermissionDeniedError:
            return True
        return False

    until(is_denied, "the new client")  # its file may be read after the settings


class Words:
    """A detector that finds nothing."""

    is_cue = staticmethod(is_cue)

    def scan(self, text: str) -> tuple[list[Finding], None]:
        return [], None


class Site:
    """A reloader over real files, and what it put in force."""

    def __init__(self, config: Path) -> None:
        self.config = config
        self.finders: list[DetectSettings] = []
        self.in_force: list[tuple[InForce, list[str]]] = []
        self.failure: Exception | None = None
        settings = load_settings(config)
        self.start = InForce.load(settings, lambda _: Words())
        self.reloader = Reloader(
            config, self.start, make_finder=self.make_finder, put_in_force=self.put_in_force, metrics=Metrics()
        )

    def make_finder(self, settings: DetectSettings) -> Words:
        self.finders.append(settings)
        if self.failure is not None:
            raise self.failure
        return Words()

    async def put_in_force(self, new: InForce, changed: list[str]) -> None:
        if self.failure is not None:
            raise self.failure
        self.in_force.append((new, changed))


@pytest.fixture(name="site")
def site_fixture(tmp_path: Path, write_config: Callable[[Path], Path]) -> Site:
    return Site(write_config(tmp_path))


def test_the_detector_is_made_anew_only_when_it_changed(site: Site) -> None:
    change(site.config, policy={"default": "block"})
    assert asyncio.run(site.reloader.reload())
    change(site.config, detect={"phone_regions": ["DE"]})
    assert asyncio.run(site.reloader.reload())
    assert [settings.phone_regions for settings in site.finders] == [["DE"]]
    assert [changed for _, changed in site.in_force] == [["policy"], ["detect"]]
    assert site.in_force[0][0].finder is site.start.finder
    assert site.in_force[1][0].finder is not site.start.finder


@pytest.mark.parametrize("failure", [RuntimeError("anna@example.com"), Refused(Code.AUDIT_UNAVAILABLE)])
def test_a_detector_that_cannot_be_made_leaves_the_old_one(site: Site, failure: Exception) -> None:
    site.failure = failure
    change(site.config, detect={"phone_regions": ["DE"]})
    assert not asyncio.run(site.reloader.reload())
    assert not site.in_force
    assert "anna" not in site.reloader.wrong["reload"]
    site.failure = None
    assert asyncio.run(site.reloader.reload())
    assert [changed for _, changed in site.in_force] == [["detect"]]
    assert not site.reloader.wrong


def test_a_refused_file_is_read_once_and_again_when_it_changes(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reload, "_CHECK_EVERY_S", 0.001)
    look, reads, looks = reload._stamp, queue.Queue[int](), itertools.count()

    def counted_look(paths: Any) -> Any:
        next(looks)
        return look(paths)

    def counted_read(path: Path) -> GatewaySettings:
        reads.put(next(looks))
        return load_settings(path)

    monkeypatch.setattr(reload, "_stamp", counted_look)
    monkeypatch.setattr(reload, "load_settings", counted_read)

    async def watch() -> None:
        watching = asyncio.create_task(site.reloader.watch())
        site.config.write_text("{}")
        first = await asyncio.to_thread(reads.get, timeout=60)
        await asyncio.to_thread(until, lambda: next(looks) > first + 20, "twenty more looks")
        assert reads.empty()
        site.config.write_text("{} # still wrong")
        await asyncio.to_thread(reads.get, timeout=60)
        watching.cancel()

    asyncio.run(watch())


def test_every_live_key_is_a_setting_and_its_files_are_watched(site: Site) -> None:
    settings = site.start.settings
    assert set(GatewaySettings.model_fields) >= set(LIVE)
    assert live_files(settings) == []  # the clients' files have a watch of their own
    assert changed_keys(settings, settings) == []


def test_all_workers_reload_and_one_that_is_started_again_knows_the_new_rules(start: Callable[..., Any]) -> None:
    own = Own(start(workers=2))
    change(own.config, policy={"default": "on-prem", "name_languages": ["en"]})
    own.hang_up()
    until(lambda: len(own.records("gateway.policy")) == 2, "a record of each worker")
    until(lambda: 'reloads_total{outcome="applied"} 2.0' in own.metrics(), "the sum over both")
    children = Path(f"/proc/{own.gateway.process.pid}/task/{own.gateway.process.pid}/children")
    for pid in children.read_text().split():
        os.kill(int(pid), signal.SIGKILL)
    until(lambda: len(own.records("gateway.policy")) == 4, "a record of each new worker")
    routes = {own.ask().headers["x-sovctl-route"] for _ in range(10)}
    assert routes == {"pool"}
    until(lambda: "sovctl_gateway_workers 2.0" in own.metrics(), "the end of the dead workers' gauges")
    own.gateway.stop()


def test_a_worker_that_finds_bad_settings_does_not_serve_older_ones(start: Callable[..., Any]) -> None:
    own = Own(start(workers=2))
    change(own.config, policy={"default": "on-prem", "name_languages": ["en"]})
    own.hang_up()
    until(lambda: len(own.records("gateway.policy")) == 2, "a record of each worker")
    good = own.config.read_text()
    own.config.write_text("{}")
    children = Path(f"/proc/{own.gateway.process.pid}/task/{own.gateway.process.pid}/children")
    os.kill(int(children.read_text().split()[0]), signal.SIGKILL)
    until(lambda: own.gateway.log().count('"worker ended"') >= 2, "the end of one that can't start")

    def route() -> str:
        try:
            return str(own.ask().headers["x-sovctl-route"])
        except openai.APIConnectionError:  # of one that was about to end
            return ""

    assert until(route, "an answer of the other worker") == "pool"
    own.config.write_text(good)
    until(lambda: len(own.records("gateway.policy")) == 3, "the worker that starts at last")
    own.gateway.stop()
