"""A client of the gateway on its own node. Arguments: MODE URL CA and those of the mode; an API key on stdin.

answers [MODEL TASK]...
                       one short request per model, by its task (`chat`, `embedding`, `reranker`, `asr`): {"model",
                       "status", "route", "has_answer", "request_id", "latency_ms"}
unauthenticated MODEL  without a key and with an invalid key: {"case", "status"}; /healthz as the control
sealed_values MODEL VAULT
                       one chat with invented identifiers, then: {"status", "route", "rows_before", "rows_after",
                       "copies", "open_files"}: occurrences of the identifiers as plain text in the vault's files, and
                       files that other users may read
record MODEL TASK LEDGER
                       one request, then: {"status", "request_id", "records", "texts"}: number of entries of each type
                       for the request in the ledger, and number of new entries that contain the prompt

A failure is {"error": name of the exception}. Key and answer are never printed.
"""

from __future__ import annotations

import http.client
import io
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
import wave

TIMEOUT_S = 60.0
PROMPT = "Please answer with one word: ready"
NO_BANK = "00000000"  # German bank codes begin with 1 to 8, so no account has this code

Row = typing.Dict[str, typing.Any]  # noqa: UP006 - nodes may have Python 3.8


def chat_answer(answer: Row) -> bool:
    return bool(answer["choices"][0]["message"]["content"])


# Path, fields in addition to the model, and whether an answer is complete. A request of `asr` has a second of silence.
TASKS: typing.Dict[str, typing.Tuple[str, typing.Callable[[str], Row], typing.Callable[[Row], bool]]] = {  # noqa: UP006
    "chat": (
        "/v1/chat/completions",
        lambda text: {"messages": [{"role": "user", "content": text}], "max_tokens": 16},
        chat_answer,
    ),
    "embedding": ("/v1/embeddings", lambda text: {"input": text}, lambda answer: bool(answer["data"][0]["embedding"])),
    "reranker": (
        "/v1/rerank",
        lambda text: {"query": text, "documents": [text]},
        lambda answer: bool(answer["results"]),
    ),
    "asr": (
        "/v1/audio/transcriptions",
        lambda _: {"response_format": "json", "max_completion_tokens": 16},
        lambda answer: isinstance(answer["text"], str),
    ),
}
MARK = "sovctl-verify"


def form(fields: Row) -> bytes:
    """Return a form with the fields and a WAV file of one second of silence: 16 kHz, mono, 16 bit."""
    file = io.BytesIO()
    with wave.open(file, "wb") as audio:
        audio.setnchannels(1)
        audio.setsampwidth(2)
        audio.setframerate(16000)
        audio.writeframes(bytes(2 * 16000))
    head = 'content-disposition: form-data; name="{}"'
    parts = [f"--{MARK}\r\n{head.format(name)}\r\n\r\n{value}\r\n" for name, value in fields.items()]
    parts.append(f'--{MARK}\r\n{head.format("file")}; filename="silence.wav"\r\ncontent-type: audio/wav\r\n\r\n')
    return "".join(parts).encode() + file.getvalue() + f"\r\n--{MARK}--\r\n".encode()


def request(
    method: str, path: str, body: Row | bytes | None = None, key: str | None = None
) -> tuple[int, http.client.HTTPMessage, bytes]:
    url = urllib.parse.urlsplit(sys.argv[2])
    context = ssl.create_default_context(cafile=sys.argv[3])
    connection = http.client.HTTPSConnection(url.hostname or "", url.port, timeout=TIMEOUT_S, context=context)
    is_form = isinstance(body, bytes)
    headers = {"content-type": f"multipart/form-data; boundary={MARK}" if is_form else "application/json"}
    if key is not None:
        headers["authorization"] = "Bearer " + key
    try:
        content = body if isinstance(body, bytes) else json.dumps(body) if body else None
        connection.request(method, path, content, headers)
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def ask(model: str, task: str, key: str, text: str = PROMPT) -> Row:
    path, fields, is_complete = TASKS[task]
    body = {"model": model, **fields(text)}
    started = time.monotonic()
    status, headers, data = request("POST", path, form(body) if task == "asr" else body, key)
    try:
        has_answer = is_complete(json.loads(data))
    except (ValueError, KeyError, IndexError, TypeError):
        has_answer = False
    return {
        "model": model,
        "status": status,
        "route": headers.get("x-sovctl-route"),
        "request_id": headers.get("x-sovctl-request-id"),
        "has_answer": has_answer,
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
    answer = ask(model, "chat", key, f"Write to {mail} about account {iban}")
    contents = [file.read_bytes().lower() for file in files_of(vault)]
    return {
        "status": answer["status"],
        "route": answer["route"],
        "rows_before": before,
        "rows_after": rows(vault),
        "copies": sum(data.count(word.lower().encode()) for data in contents for word in (mail, iban)),
        "open_files": [str(file) for file in files_of(vault) if file.stat().st_mode & 0o077],
    }


def record(model: str, task: str, ledger: pathlib.Path, key: str) -> Row:
    from sovctl.compliance.ledger.reader import LedgerReader

    start = sum(1 for _ in LedgerReader(ledger).entries())
    answer = ask(model, task, key)
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
    if mode == "answers":
        for model, task in zip(arguments[::2], arguments[1::2]):  # noqa: B905 - nodes may have Python 3.8
            yield ask(model, task, key)
    elif mode == "sealed_values":
        yield sealed_values(arguments[0], pathlib.Path(arguments[1]), key)
    else:
        yield record(arguments[0], arguments[1], pathlib.Path(arguments[2]), key)


try:
    for row in answers(sys.argv[1], sys.argv[4:]):
        sys.stdout.write(json.dumps(row) + "\n")
except Exception as error:  # noqa: BLE001 - whatever it is, the judge must hear of it, by name only
    sys.stdout.write(json.dumps({"error": type(error).__name__}) + "\n")
