"""A real gateway that hands answers over: client, operator and webhook each see their part, and no more."""

from __future__ import annotations

import hmac
import json
import secrets
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import openai
import pytest
import warm_processes
from access_givens import MONITOR_KEY, entry
from admin_givens import ADMIN, CALLER, ask, begin
from echo_upstream import EchoUpstream
from postgresql_server import DATABASE, PASSWORD, PostgresqlServer
from waiting import until
from webhook_receiver import WebhookReceiver

from sovctl.gateway.handoff.postgresql_tables import SCHEMA

IBAN, OTHER_IBAN = "DE89370400440532013000", "FR1420041010050500013M02606"
OTHER = "test-key-of-another-application"
FOREIGN = "test-key-of-an-operator-of-another-tenant"
BLIND = "test-key-of-one-who-may-not-see-values"
PASSAGES = "Use these and cite them:\n[1] Deposits earn 4 % a year."
QUESTION = f"Please tell me what my deposit on {IBAN} earns"
WRONG = "Your deposit on TOKEN earns 9 % a year. [1]"
TEXTS = {"en": "A person looks at it: {id}", "de": "Ein Mensch sieht es sich an: {id}"}
KEY_HEX = secrets.token_hex(32)


@pytest.fixture(name="receiver", scope="module")
def receiver_fixture() -> Iterator[WebhookReceiver]:
    with WebhookReceiver() as receiver:
        yield receiver


@pytest.fixture(name="manned", scope="module")
def manned_fixture(start: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory, receiver: Any) -> Any:
    return manned_gateway(start, tmp_path_factory.mktemp("manned"), receiver, workers=2)


def manned_gateway(start: Callable[..., Any], folder: Path, receiver: WebhookReceiver, **changes: Any) -> Any:
    """A gateway that hands over, with operators and a webhook."""
    clients = [
        entry("ops", ADMIN, is_admin=True),
        {**entry("group-ops", FOREIGN, is_admin=True), "tenant": "group"},
        entry("monitoring", MONITOR_KEY, is_monitor=True),
        entry("branch", CALLER),
        entry("other", OTHER),
        entry("blind", BLIND, may_restore=False),
    ]
    (folder / "all-clients.json").write_text(json.dumps(clients))
    (folder / "webhook.key").write_text(KEY_HEX)
    (folder / "webhook.key").chmod(0o600)
    handoff = {"texts": TEXTS, "webhook": {"url": receiver.url, "secret_file": str(folder / "webhook.key")}}
    ways = {"pool": "chat", "cloud": "sovereign-cloud", "prefer": "cloud"}
    settings = {
        "handoff": {**handoff, **changes.pop("handoff", {})},
        "routes": [
            {"model": "cited", **ways, "release": {"citations": {}}},
            {"model": "inside", "pool": "chat", "release": {"identifiers": {"default": "hand-off"}}},
        ],
        "clients_file": str(folder / "all-clients.json"),
        "access": {},
        "quota": {},
        **changes,
    }
    return begin(start, folder, **settings)


def says(text: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """An upstream that says `text`; TOKEN is the client's identifier as the upstream knows it."""

    def message(body: dict[str, Any]) -> dict[str, Any]:
        token = body["messages"][-1]["content"].split(" on ")[1].split(" earns")[0]
        return {"role": "assistant", "content": text.replace("TOKEN", token)}

    return message


def ask_model(gateway: Any, *, key: str = CALLER, model: str = "cited", question: str = QUESTION, **more: Any) -> Any:
    messages = [{"role": "system", "content": PASSAGES}, {"role": "user", "content": question}]
    return gateway.client(key).chat.completions.with_raw_response.create(model=model, messages=messages, **more)


def fetch(gateway: Any, handoff_id: str, key: str = CALLER) -> tuple[int, dict[str, Any]]:
    code, _, body = gateway.request("GET", f"/v1/handoffs/{handoff_id}", headers={"Authorization": f"Bearer {key}"})
    return code, json.loads(body)


def resolve(gateway: Any, handoff_id: str, answer: str) -> int:
    code, _, _ = ask(gateway, "POST", "/actions/resolve", body={"id": handoff_id, "answer": answer}, key=ADMIN)
    return code


def shown(gateway: Any, handoff_id: str) -> dict[str, Any]:
    """The hand-off as an operator gets it."""
    code, _, body = ask(gateway, "GET", f"/api/handoffs/{handoff_id}", key=ADMIN)
    assert code == 200, body
    found: dict[str, Any] = json.loads(body)
    return found


def handed_over(gateway: Any, cloud: EchoUpstream, **more: Any) -> str:
    cloud.script.message = says(WRONG)
    return str(ask_model(gateway, **more).headers["x-sovctl-handoff-id"])


def test_the_client_gets_a_defined_answer_and_later_the_operators(manned: Any, cloud: EchoUpstream) -> None:
    cloud.script.message = says(WRONG)
    raw = ask_model(manned)
    answer = raw.parse()
    handoff_id = raw.headers["x-sovctl-handoff-id"]
    assert answer.choices[0].finish_reason == "content_filter"
    assert answer.choices[0].message.content == TEXTS["en"].replace("{id}", handoff_id)
    assert answer.model_dump()["sovctl"] == {"handoff_id": handoff_id, "state": "waiting"}
    assert fetch(manned, handoff_id)[1]["state"] == "waiting"

    (user,) = [each for each in shown(manned, handoff_id)["said"] if each["role"] == "user"]
    token = user["text"].split(" on ")[1].split(" earns")[0]
    assert token.startswith("IBAN_")
    assert ask(manned, "POST", "/actions/take", body={"id": handoff_id}, key=ADMIN)[0] == 200
    assert fetch(manned, handoff_id)[1]["state"] == "taken"
    assert resolve(manned, handoff_id, f"Your deposit on {token} earns 4 % a year.") == 200

    code, told = fetch(manned, handoff_id)
    assert (code, told["state"]) == (200, "resolved")
    choice = told["answer"]["choices"][0]
    assert choice["message"]["content"] == f"Your deposit on {IBAN} earns 4 % a year."
    assert (choice["finish_reason"], told["answer"]["object"]) == ("stop", "chat.completion")


def test_an_operator_of_another_tenant_neither_reads_nor_changes_it(manned: Any, cloud: EchoUpstream) -> None:
    handoff_id = handed_over(manned, cloud)
    assert json.loads(ask(manned, "GET", "/api/status", key=FOREIGN)[2])["handoffs"] == []
    assert ask(manned, "GET", f"/api/handoffs/{handoff_id}", key=FOREIGN)[0] == 404
    for action in ("take", "resolve"):
        body = {"id": handoff_id, "answer": "x"}
        assert ask(manned, "POST", f"/actions/{action}", body=body, key=FOREIGN)[0] == 409
    assert shown(manned, handoff_id)["state"] == "waiting"


def test_hosts_with_one_vault_share_their_hand_offs(
    start: Callable[..., Any],
    postgresql: PostgresqlServer,
    receiver: WebhookReceiver,
    tmp_path: Path,
    cloud: EchoUpstream,
) -> None:
    for schema in (SCHEMA.name, "sovctl_vault", "sovctl_quotas"):
        postgresql.psql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    for name, text in (("password", PASSWORD), ("one.kek", secrets.token_hex(32)), ("one.key", secrets.token_hex(32))):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    place = {"host": "127.0.0.1", "port": postgresql.port, "database": DATABASE, "ca_file": str(postgresql.ca_file)}
    shared: dict[str, Any] = {
        "vault": {
            "postgresql": {**place, "password_file": str(tmp_path / "password"), "statement_timeout_s": 20},
            "kek_file": str(tmp_path / "one.kek"),
        },
        "token_key_file": str(tmp_path / "one.key"),
    }
    one, other = (manned_gateway(start, tmp_path, receiver, **shared) for _ in range(2))
    handoff_id = handed_over(one, cloud)

    def told_of_it() -> int:
        return sum(handoff_id.encode() in call.body for call in receiver.calls)

    until(told_of_it, "the webhook hears of it")
    assert fetch(other, handoff_id)[1]["state"] == "waiting"
    (user,) = [each for each in shown(other, handoff_id)["said"] if each["role"] == "user"]
    token = user["text"].split(" on ")[1].split(" earns")[0]
    assert ask(other, "POST", "/actions/take", body={"id": handoff_id}, key=ADMIN)[0] == 200
    assert resolve(other, handoff_id, f"Your deposit on {token} earns 4 % a year.") == 200
    told = fetch(one, handoff_id)[1]
    assert told["answer"]["choices"][0]["message"]["content"] == f"Your deposit on {IBAN} earns 4 % a year."
    assert told_of_it() == 1
    assert IBAN.encode() not in postgresql.dump()


def test_the_operator_reads_tokens_and_never_a_value(manned: Any, cloud: EchoUpstream) -> None:
    cloud.script.message = says(f"Your deposit on TOKEN earns 9 %, as does {OTHER_IBAN}. [1]")
    handoff_id = ask_model(manned).headers["x-sovctl-handoff-id"]
    case = shown(manned, handoff_id)
    assert [each["role"] for each in case["said"]] == ["system", "user", "held back"]
    text = json.dumps(case)
    assert IBAN not in text.replace(" ", "")
    assert OTHER_IBAN not in text.replace(" ", "")
    assert "earns 9 %" in case["said"][-1]["text"]
    assert case["reasons"] == ["citations:number-unsupported"]


def test_what_only_the_held_answer_said_never_comes_back(manned: Any, cloud: EchoUpstream) -> None:
    cloud.script.message = says(f"Your deposit on TOKEN earns 9 %, as does {OTHER_IBAN}. [1]")
    handoff_id = ask_model(manned).headers["x-sovctl-handoff-id"]
    held = shown(manned, handoff_id)["said"][-1]["text"]
    assert resolve(manned, handoff_id, held) == 200
    content = fetch(manned, handoff_id)[1]["answer"]["choices"][0]["message"]["content"]
    assert IBAN in content
    assert OTHER_IBAN not in content


def test_nobody_but_its_client_gets_a_hand_off(manned: Any, cloud: EchoUpstream) -> None:
    handoff_id = handed_over(manned, cloud)
    assert fetch(manned, handoff_id)[0] == 200
    assert fetch(manned, handoff_id, OTHER)[0] == 404
    assert fetch(manned, handoff_id, ADMIN)[0] == 404
    assert fetch(manned, handoff_id, "no-key")[0] == 401
    status, absent = fetch(manned, "ho-" + "0" * 32)
    assert (status, absent["error"]["code"]) == (404, "handoff_not_found")
    assert fetch(manned, "../../etc/passwd")[0] == 404


def test_a_client_that_may_not_see_values_gets_the_answer_with_its_tokens(manned: Any, cloud: EchoUpstream) -> None:
    handoff_id = handed_over(manned, cloud, key=BLIND)
    (user,) = [each for each in shown(manned, handoff_id)["said"] if each["role"] == "user"]
    token = user["text"].split(" on ")[1].split(" earns")[0]
    assert resolve(manned, handoff_id, f"It is {token}.") == 200
    assert fetch(manned, handoff_id, BLIND)[1]["answer"]["choices"][0]["message"]["content"] == f"It is {token}."


def test_a_stream_ends_with_the_text_and_the_id(manned: Any, cloud: EchoUpstream) -> None:
    good = "Deposits earn 4 % a year. [1] "
    for said, begun in ((good + "They earn 9 % abroad. [1] And more.", good), ("They earn 9 % abroad. [1]", "")):
        cloud.script.message = lambda _, said=said: {"role": "assistant", "content": said}
        chunks = list(ask_model(manned, stream=True).parse())
        text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
        handoff_id = chunks[-1].model_dump()["sovctl"]["handoff_id"]
        assert text.startswith(begun)
        assert text.strip().endswith(TEXTS["en"].replace("{id}", handoff_id))
        assert "abroad" not in text
        assert chunks[-1].choices[0].finish_reason == "content_filter"
        assert "abroad" in shown(manned, handoff_id)["said"][-1]["text"]


def test_the_text_is_in_the_language_of_the_request(manned: Any, cloud: EchoUpstream) -> None:
    question = f"Bitte sagen Sie mir, wie viel Zinsen ich auf mein Konto on {IBAN} earns bekomme"
    cloud.script.message = lambda _: {"role": "assistant", "content": "Es sind 9 % im Jahr. [1]"}
    messages = [{"role": "user", "content": f"[1] Einlagen bringen 4 %.\n\n{question}"}]
    answer = manned.client(CALLER).chat.completions.create(model="cited", messages=messages)
    assert answer.choices[0].message.content.startswith("Ein Mensch")


def test_a_hand_off_from_a_pool_is_in_tokens_too(manned: Any, pool: EchoUpstream) -> None:
    pool.script.message = lambda _: {"role": "assistant", "content": f"Pay to {OTHER_IBAN} then."}
    handoff_id = ask_model(manned, model="inside").headers["x-sovctl-handoff-id"]
    case = shown(manned, handoff_id)
    assert IBAN not in json.dumps(case)
    assert OTHER_IBAN not in json.dumps(case)
    assert case["reasons"] == ["identifiers:hand-off:IBAN"]


def test_the_webhook_is_told_once_signed_and_without_a_word_of_text(
    manned: Any, cloud: EchoUpstream, receiver: WebhookReceiver
) -> None:
    before = time.time()
    handoff_id = handed_over(manned, cloud)
    calls = until(lambda: [c for c in receiver.calls if c.headers["idempotency-key"] == handoff_id], "the call")
    (call,) = calls
    at, mac = (part.partition("=")[2] for part in call.headers["x-sovctl-signature"].split(","))
    assert mac == hmac.new(bytes.fromhex(KEY_HEX), f"{at}.".encode() + call.body, sha256).hexdigest()
    assert before - 2 <= int(at) <= time.time() + 2
    told = json.loads(call.body)
    assert set(told) == {"event", "id", "request_id", "site", "reasons", "counts", "made_at"}
    assert (told["id"], told["reasons"]) == (handoff_id, ["citations:number-unsupported"])


def test_a_webhook_that_fails_is_called_again_with_the_same_key(
    manned: Any, cloud: EchoUpstream, receiver: WebhookReceiver
) -> None:
    until_all_are_heard(manned)  # else one of them would get an answer that is meant for this one
    receiver.statuses.extend((503, 500))
    handoff_id = handed_over(manned, cloud)
    until(lambda: len(bodies(receiver, handoff_id)) == 3, "the third call")
    assert len(set(bodies(receiver, handoff_id))) == 1


def until_all_are_heard(gateway: Any) -> None:
    with closing(sqlite3.connect(gateway.config.parent / "vault/handoffs.db")) as queue:
        until(lambda: queue.execute("SELECT count(*) FROM outbox").fetchone() == (0,), "all are heard")


def bodies(receiver: WebhookReceiver, handoff_id: str) -> list[bytes]:
    return [call.body for call in receiver.calls if call.headers["idempotency-key"] == handoff_id]


def test_two_workers_tell_of_each_hand_off_once(manned: Any, cloud: EchoUpstream, receiver: WebhookReceiver) -> None:
    made = [handed_over(manned, cloud) for _ in range(6)]
    until_all_are_heard(manned)
    assert [len(bodies(receiver, handoff_id)) for handoff_id in made] == [1] * 6


def test_the_ledger_has_who_made_read_resolved_and_got_it_and_no_text(manned: Any, cloud: EchoUpstream) -> None:
    handoff_id = handed_over(manned, cloud)
    shown(manned, handoff_id)
    assert resolve(manned, handoff_id, "A secret word.") == 200
    fetch(manned, handoff_id)
    records = [each for each in manned.records() if handoff_id in json.dumps(each)]
    assert [(each["type"], each.get("event") or each.get("action") or each.get("reason")) for each in records] == [
        ("gateway.answer", "handed_over"),
        ("gateway.admin", "read"),
        ("gateway.admin", "resolve"),
        ("gateway.handoff", "resolved"),
        ("gateway.handoff", "delivered"),
    ]
    assert "secret" not in json.dumps(records)


def test_two_operators_do_not_answer_one_hand_off(manned: Any, cloud: EchoUpstream) -> None:
    handoff_id = handed_over(manned, cloud)
    assert ask(manned, "POST", "/actions/take", body={"id": handoff_id}, key=ADMIN)[0] == 200
    assert ask(manned, "POST", "/actions/take", body={"id": handoff_id}, key=ADMIN)[0] == 409
    assert resolve(manned, handoff_id, "Once.") == 200
    assert resolve(manned, handoff_id, "Twice.") == 409
    assert fetch(manned, handoff_id)[1]["answer"]["choices"][0]["message"]["content"] == "Once."


def test_nothing_of_it_is_readable_on_the_disk(manned: Any, cloud: EchoUpstream) -> None:
    handoff_id = handed_over(manned, cloud)
    resolve(manned, handoff_id, "An answer that nobody reads on the disk.")
    folder = manned.config.parent
    stored = b"".join(path.read_bytes() for path in sorted((folder / "vault").iterdir()))
    assert handoff_id.encode() in stored
    for text in (IBAN, "earns 9", "what my deposit", "nobody reads on the disk", "branch"):
        assert text.encode() not in stored


def test_who_is_erased_is_gone_from_hand_offs_and_their_answers(
    manned: Any, cloud: EchoUpstream, tmp_path: Path
) -> None:
    handoff_id, other_id = (
        handed_over(manned, cloud),
        handed_over(manned, cloud, question=f"About it on {OTHER_IBAN} earns"),
    )
    for each, iban in ((handoff_id, IBAN), (other_id, OTHER_IBAN)):
        assert resolve(manned, each, f"It is on {iban}, dear Sir.") == 200
        assert iban in str(fetch(manned, each))
    subject_file = tmp_path / "subject"
    subject_file.write_text(IBAN)
    subject_file.chmod(0o600)
    words = ("vault", "erase", "--config", manned.config, "--json", "--tenant", "retail", "--yes")
    done = warm_processes.gateway(*words, "--subject-file", subject_file)
    assert done.returncode == 0, done.stderr
    assert fetch(manned, handoff_id)[1]["answer"] is None
    assert OTHER_IBAN in str(fetch(manned, other_id))
    assert IBAN not in str(shown(manned, handoff_id))


def test_a_hand_off_survives_kill_9_and_a_full_queue_is_refused(
    start: Callable[..., Any], start_from: Callable[..., Any], tmp_path: Path, cloud: EchoUpstream
) -> None:
    with WebhookReceiver() as receiver:
        receiver.statuses.extend([503] * 1000)
        gateway = manned_gateway(start, tmp_path, receiver, workers=1, handoff={"max_open": 1, "stuck_after_s": 1})
        handoff_id = handed_over(gateway, cloud)
        with pytest.raises(openai.InternalServerError) as caught:
            ask_model(gateway)
        assert caught.value.body["sovctl"]["reason"] == "handoff_queue_full"  # type: ignore[index]
        assert caught.value.response.headers["x-should-retry"] == "false"
        wrong = until(lambda: json.loads(gateway.request("GET", "/readyz")[2])["wrong"].get("handoffs"), "it is said")
        assert "full" in wrong
        until(lambda: "has waited for" in str(json.loads(gateway.request("GET", "/readyz")[2])["wrong"]), "so is that")
        until(lambda: "webhook" in str(json.loads(gateway.request("GET", "/readyz")[2])["wrong"]), "and that")
        assert gateway.stop(signal.SIGKILL) == -signal.SIGKILL
        receiver.statuses.clear()
        already = len(bodies(receiver, handoff_id))
        again = start_from(gateway.config, tmp_path / "log-again")
        assert fetch(again, handoff_id)[1]["state"] == "waiting"
        until(lambda: len(bodies(receiver, handoff_id)) > already, "the webhook hears of it after all")
        assert resolve(again, handoff_id, "Here we are.") == 200
        assert fetch(again, handoff_id)[1]["answer"]["choices"][0]["message"]["content"] == "Here we are."
        until(lambda: "handoffs" not in json.loads(again.request("GET", "/readyz")[2])["wrong"], "all is well")


def test_an_erased_client_leaves_no_hand_off_and_its_values_are_exported_by_value(
    start: Callable[..., Any], tmp_path: Path, receiver: WebhookReceiver, cloud: EchoUpstream
) -> None:
    def subject(word: str, *options: str, said: str = "") -> dict[str, Any]:
        done = warm_processes.gateway("subject", word, "--config", gateway.config, *options, answers=said)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    gateway = manned_gateway(start, tmp_path, receiver)
    erased, stays = handed_over(gateway, cloud), handed_over(gateway, cloud, key=OTHER)
    by_value = subject("export", "--tenant", "retail", "--values-file", "-", "--stdout", said=f"{IBAN}\n")
    assert {value for each in by_value["conversations"] for value in each["values"].values()} == {IBAN}
    assert {each["id"] for each in by_value["handoffs"]} == {erased, stays}
    exported = subject("export", "--subject", "branch", "--stdout")
    assert [each["id"] for each in exported["handoffs"]] == [erased]
    receipt = subject("erase", "--subject", "branch", "--yes", "--json")
    assert (receipt["handoffs"], receipt["is_recorded"]) == (1, True)
    assert fetch(gateway, erased)[0] == 404
    assert shown(gateway, stays)["said"] != []
    assert subject("erase", "--subject", "branch", "--yes", "--json")["handoffs"] == 0
