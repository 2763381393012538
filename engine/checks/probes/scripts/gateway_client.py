"""A client of the gateway on its own node. Arguments: MODE URL CA and those of the mode; an API key on stdin.

chat MODEL...          one short chat per model: {"model", "status", "route", "has_text", "request_id", "latency_ms"}
unauthenticated MODEL  without a key and with an invalid key: {"case", "status"}; /healthz as the control
sealed_values MODEL VAULT
                       one chat with invented identifiers, then: {"status", "route", "rows_before", "rows_after",
                       "copies", "open_files"}: occurrences of the identifiers as plain text in the vault's files, and
                       files that other users may read
record MODEL LEDGER    one chat, then: {"status", "request_id", "records", "texts"}: number of entries of each type for
                       the request in the ledger, and number of new entries that contain the prompt

A failure is {"error": name of the exception}. Key and answer are never printed.
"""

from __future__ import annotations

import http.client
import json
import pathlib
import secrets
import shutil
import sqlite3
import ssl
import sys
import tempfile
import time
import typing
import urllib.parse

TIMEOUT_S = 60.0
PROMPT = "Please answer with one word: ready"
NO_BANK = "00000000"  # German bank codes begin with 1 to 8, so no account has this code

Row = typing.Dict[str, typing.Any]  # noqa: UP006 - nodes may have Python 3.8


def request(
    method: str, path: str, body: Row | None = None, key: str | None = None
) -> tuple[int, http.client.HTTPMessage, bytes]:
    url = urllib.parse.urlsplit(sys.argv[2])
    context = ssl.create_default_context(cafile=sys.argv[3])
    connection = http.client.HTTPSConnection(url.hostname or "", url.port, timeout=TIMEOUT_S, context=context)
    headers = {"content-type": "application/json"}
    if key is not None:
        headers["authorization"] = "Bearer " + key
    try:
        connection.request(method, path, json.dumps(body) if body else None, headers)
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def chat(model: str, key: str, text: str = PROMPT) -> Row:
    body = {"model": model, "messages": [{"role": "user", "content": text}], "max_tokens": 16}
    started = time.monotonic()
    status, headers, data = request("POST", "/v1/chat/completions", body, key)
    try:
        content = json.loads(data)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError):
        content = None
    return {
        "model": model,
        "status": status,
        "route": headers.get("x-sovctl-route"),
        "request_id": headers.get("x-sovctl-request-id"),
        "has_text": bool(content),
        "latency_ms": round((time.monotonic() - started) * 1000),
    }


def unauthenticated(model: str) -> typing.Iterator[Row]:
    body = {"model": model, "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 1}
    yield {"case": "healthz", "status": request("GET", "/healthz")[0]}
    yield {"case": "no key", "status": request("POST", "/v1/chat/completions", body)[0]}
    yield {"case": "wrong key", "status": request("POST", "/v1/chat/completions", body, secrets.token_hex(24))[0]}
    yield {"case": "models without key", "status": request("GET", "/v1/models")[0]}


def files_of(vault: pathlib.Path) -> list[pathlib.Path]:
    """Return the database and its SQLite side files."""
    return sorted(vault.parent.glob(vault.name + "*"))


def rows(vault: pathlib.Path) -> int:
    """Return the number of rows of all tables; reads a copy, because opening the live file could create files."""
    with tempfile.TemporaryDirectory() as folder:
        for file in files_of(vault):
            shutil.copy(file, folder)
        connection = sqlite3.connect(pathlib.Path(folder) / vault.name)
        try:
            names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            counts = [f'SELECT count(*) FROM "{name}"' for name in names]  # noqa: S608 - the database's own names
            return sum(connection.execute(count).fetchone()[0] for count in counts)
        finally:
            connection.close()


def invented_iban() -> str:
    """Return a random, valid German IBAN (ISO 13616, check digits by ISO 7064 mod 97-10) of no bank."""
    account = NO_BANK + "".join(str(secrets.randbelow(10)) for _ in range(10))
    return f"DE{98 - int(account + '131400') % 97:02d}{account}"  # "DE00" at the end, letters as numbers


def sealed_values(model: str, vault: pathlib.Path, key: str) -> Row:
    mail = f"verify.{secrets.token_hex(8)}@example.org"
    iban = invented_iban()
    before = rows(vault)
    answer = chat(model, key, f"Write to {mail} about account {iban}")
    contents = [file.read_bytes().lower() for file in files_of(vault)]
    return {
        "status": answer["status"],
        "route": answer["route"],
        "rows_before": before,
        "rows_after": rows(vault),
        "copies": sum(data.count(word.lower().encode()) for data in contents for word in (mail, iban)),
        "open_files": [str(file) for file in files_of(vault) if file.stat().st_mode & 0o077],
    }


def record(model: str, ledger: pathlib.Path, key: str) -> Row:
    from sovctl.compliance.ledger.reader import LedgerReader

    start = sum(1 for _ in LedgerReader(ledger).entries())
    answer = chat(model, key)
    entries = list(LedgerReader(ledger).entries(start=start))
    types = [str(entry.record.get("type")) for entry in entries if entry.record.get("id") == answer["request_id"]]
    return {
        "status": answer["status"],
        "request_id": answer["request_id"],
        "records": {each: types.count(each) for each in sorted(set(types))},
        "texts": sum(PROMPT.encode() in entry.data for entry in entries),
    }


def answers(mode: str, arguments: list[str]) -> typing.Iterator[Row]:
    if mode == "unauthenticated":
        yield from unauthenticated(arguments[0])
        return
    key = sys.stdin.read().strip()
    if mode == "chat":
        for model in arguments:
            yield chat(model, key)
    elif mode == "sealed_values":
        yield sealed_values(arguments[0], pathlib.Path(arguments[1]), key)
    else:
        yield record(arguments[0], pathlib.Path(arguments[1]), key)


try:
    for row in answers(sys.argv[1], sys.argv[4:]):
        sys.stdout.write(json.dumps(row) + "\n")
except Exception as error:  # noqa: BLE001 - whatever it is, the judge must hear of it, by name only
    sys.stdout.write(json.dumps({"error": type(error).__name__}) + "\n")
