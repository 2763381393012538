"""Log probabilities of fixed tokens by a vLLM server. Arguments: ADDRESS PORT CA CERTIFICATE KEY MODEL.

JSON lines: {"path": "/version", "version"}, then one line per prompt: {"prompt", "ids_sha256", "logprobs"}, or
{"prompt", "error"}. `logprobs` are those of the last 16 tokens of a prompt, which the server reads and does not choose,
so that a near tie changes no later token. Prompts end at 256 tokens, because vLLM keeps the probabilities of the whole
vocabulary for each. The output contains numbers and no text. The prompts are invented and name no person.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import ssl
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

TIMEOUT_S = 60.0
FORCED_TOKENS = 16
MOST_TOKENS = 256
ERRORS = (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, http.client.HTTPException)
PROMPTS = (
    "Explain in two sentences how a savings account differs from a current account.",
    "Write a polite reply that confirms the receipt of a complaint and names the next step.",
    "List three reasons for which a card payment can be declined.",
    "Summarize the advantages of a standing order for a small company.",
    "Name the documents that a branch requests for a mortgage.",
    "Translate into French: the contract ends on the last day of the month.",
    "def fibonacci(count):\n    values = [0, 1]\n    while len(values) < count:\n",
    "SELECT account, sum(amount) FROM bookings\nWHERE booked_on >= '2026-01-01'\nGROUP BY",
    "#include <stdio.h>\n\nint main(void) {\n    for (int i = 0; i < 10; i++) {\n",
    '{"currency": "EUR", "amounts": [12.5, 13.75, 19.0], "total":',
    "apiVersion: v1\nkind: Service\nmetadata:\n  name: api\nspec:\n  ports:\n",
    "import hashlib\n\ndef digest(path):\n    with open(path, 'rb') as file:\n",
    "Ein Rechteck mit den Seiten 7 cm und 9 cm hat den Umfang",
    "Bitte fassen Sie die K\u00fcndigungsfristen eines Girokontos in zwei S\u00e4tzen zusammen.",
    "Die \u00dcberweisung wurde am Montag ausgef\u00fchrt, weil der Betrag",
    "F\u00fcr gr\u00f6\u00dfere \u00c4nderungen an der Stra\u00dfe ben\u00f6tigt die Gemeinde",
    "Le taux d'int\u00e9r\u00eat est fix\u00e9 chaque trimestre par la banque, parce que",
    "Veuillez r\u00e9sumer les conditions de ce pr\u00eat en deux phrases.",
    "Il contratto scade alla fine del mese, perci\u00f2 il cliente",
    "La cuenta de ahorro se diferencia de la cuenta corriente porque",
    "Przelew zosta\u0142 wykonany w poniedzia\u0142ek, poniewa\u017c kwota",
    "\u062a\u0645 \u062a\u0646\u0641\u064a\u0630 \u0627\u0644\u062a\u062d\u0648\u064a\u0644 \u064a\u0648\u0645",
    "\u8f6c\u8d26\u5df2\u4e8e\u661f\u671f\u4e00\u5b8c\u6210\uff0c\u56e0\u4e3a\u91d1\u989d",
    "The first twelve prime numbers in ascending order are 2, 3, 5,",
    "1234.56 + 7890.12 = 9124.68; 17 * 23 = 391; 1000 / 8 =",
    "2026-01-31, 2026-02-28, 2026-03-31, 2026-04-30,",
    "3.14159 26535 89793 23846 26433 83279",
    "Water boils at 100 degrees Celsius at sea level because",
    "The planets of the solar system in order of their distance from the sun are",
    "Status: \U0001f7e2 online, \U0001f7e1 slow, \U0001f534",
    "The branch opens at nine and closes at five. " * 30,
    "Paragraph: the parties agree on the terms of delivery, payment and liability.\n" * 20,
)
FORCED = (
    " The answer depends on the terms of the account, the amount 12,450.75 and the date 2026-03-14; see section 4.",
    "\n    values.append(values[-1] + values[-2])\n    return values[:count]  # ends after count values\nprint(total)",
    " Die Pr\u00fcfung dauert f\u00fcnf Werktage, danach folgt eine schriftliche Best\u00e4tigung \u00fcber 99 Euro.",
    " because, however, therefore: 7 of 9 customers chose option B, and 2 chose option A (see table 3, row 5).",
)
"""Texts whose first 16 tokens follow the prompts, in turn."""


def ask(method: str, path: str, body: dict[str, object] | None = None) -> Any:
    address, port, authority, certificate, key = sys.argv[1:6]
    context = ssl.create_default_context(cafile=authority)
    context.load_cert_chain(certificate, key)
    connection = http.client.HTTPSConnection(address, int(port), timeout=TIMEOUT_S, context=context)
    try:
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {"content-type": "application/json"})
        reply = connection.getresponse()
        if reply.status != 200:
            raise ValueError(f"http {reply.status}")
        return json.loads(reply.read(16 << 20))
    finally:
        connection.close()


def tokens_of(text: str, *, special: bool) -> list[int]:
    body = {"model": sys.argv[6], "prompt": text, "add_special_tokens": special}
    return list(ask("POST", "/tokenize", body)["tokens"])


def fingerprint(number: int, limit: int) -> dict[str, object]:
    forced = tokens_of(FORCED[number % len(FORCED)], special=False)[:FORCED_TOKENS]
    if len(forced) < FORCED_TOKENS:
        raise ValueError(f"{len(forced)} tokens of the text that follows")
    ids = tokens_of(PROMPTS[number], special=True)[: limit - FORCED_TOKENS] + forced
    body = {"model": sys.argv[6], "prompt": ids, "max_tokens": 1, "temperature": 0, "prompt_logprobs": 0}
    rows = ask("POST", "/v1/completions", body)["choices"][0]["prompt_logprobs"]
    if len(rows) != len(ids):
        raise ValueError(f"{len(rows)} log probabilities of {len(ids)} tokens")
    pairs = list(zip(ids, rows, strict=True))[-FORCED_TOKENS:]
    digest = hashlib.sha256(json.dumps(ids).encode()).hexdigest()
    return {"ids_sha256": digest, "logprobs": [row[str(token)]["logprob"] for token, row in pairs]}


def attempt(known: dict[str, Any], call: Callable[[], dict[str, object]]) -> dict[str, object]:
    try:
        return {**known, **call()}
    except ERRORS as error:
        return {**known, "error": f"{type(error).__name__}: {error}"[:200]}


def version() -> dict[str, object]:
    return {"version": ask("GET", "/version")["version"]}


def limited() -> int:
    """Return the number of tokens of a prompt; one token is generated after it."""
    return min(MOST_TOKENS, int(ask("GET", "/v1/models")["data"][0]["max_model_len"]) - 1)


def main() -> None:
    # One request at a time, because other requests in the batch change rounding.
    answers = [attempt({"path": "/version"}, version)]
    try:
        limit = limited()
    except ERRORS as error:
        answers.append({"path": "/v1/models", "error": f"{type(error).__name__}: {error}"[:200]})
    else:
        answers += [attempt({"prompt": number}, partial(fingerprint, number, limit)) for number in range(len(PROMPTS))]
    sys.stdout.write("".join(json.dumps(each) + "\n" for each in answers))


main()
