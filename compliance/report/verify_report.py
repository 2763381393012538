"""Check a sovctl report without sovctl. Needs Python 3.11 or newer and the `cryptography` package, and no network.

    python3 verify_report.py [FOLDER] [--key FILE] [--json]

FOLDER is a folder of `sovctl report`: report.json, report.html, checkpoint, log.vkey, report.tlog-proof, raw/. FILE is
the public key of the ledger, from a trusted source outside this folder. The program checks the digest of every record
and raw output, the inclusion of every record in the signed log, the signature of the log, and the ledger entry of this
report. It computes the state of every control again from the evidence, as of the day of the report. Exit code 0: no
findings; 1: findings; 3: not a report.

Formats: https://c2sp.org/signed-note, /tlog-checkpoint, /tlog-proof; RFC 9162 for the tree; RFC 8785 for the JSON
that is hashed. This file does not import sovctl, so that an auditor has to review and trust this file only.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import hashlib
import json
import re
import sys
from datetime import date
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

FORMAT = "sovctl-report-v1"
MAX_WAIVER_DAYS = 365
SUMMARY_ORDER = ["pass", "fail", "error", "waived", "attested", "n-a"]


class NoReport(Exception):
    """The folder has no readable report."""


class Wrong(Exception):
    """A finding."""


# --- hashing and signatures -------------------------------------------------------------------------------------------


def canonical(value: Any) -> bytes:
    """Return RFC 8785 JSON of objects with ASCII keys, lists, text, integers, true, false and null."""
    _require_plain(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _require_plain(value: Any) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            if not key.isascii():
                raise Wrong("a field name is not ASCII")
            _require_plain(inner)
    elif isinstance(value, list):
        for inner in value:
            _require_plain(inner)
    elif isinstance(value, float) or (isinstance(value, int) and abs(value) >= 2**53):
        raise Wrong("a number is not exact in JSON")


def unbase64(text: str) -> bytes:
    """Decode canonical standard base64."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Wrong("invalid base64") from None
    if base64.b64encode(data).decode() != text:
        raise Wrong("base64 is not in canonical form")
    return data


def node(left: bytes, right: bytes) -> bytes:
    """Return the hash of an inner node (RFC 9162 2.1.1)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def leaf(record: Any) -> bytes:
    """Return the leaf hash of a record (RFC 9162 2.1.1)."""
    return hashlib.sha256(b"\x00" + canonical(record)).digest()


def includes(leaf_hash: bytes, index: int, size: int, path: list[bytes], root: bytes) -> bool:
    """Verify an inclusion proof (RFC 9162 2.1.3.2)."""
    if not 0 <= index < size:
        return False
    position, last, current = index, size - 1, leaf_hash
    for sibling in path:
        if last == 0:
            return False
        if position & 1 or position == last:
            current = node(sibling, current)
            while not position & 1 and position:
                position, last = position >> 1, last >> 1
        else:
            current = node(current, sibling)
        position, last = position >> 1, last >> 1
    return last == 0 and current == root


def extends(old_size: int, old_root: bytes, size: int, root: bytes, path: list[bytes]) -> bool:
    """Verify a consistency proof (RFC 9162 2.1.4.2)."""
    if old_size == 0:
        return not path and old_root == hashlib.sha256().digest()
    if old_size == size:
        return not path and old_root == root
    if not 0 < old_size < size or not path:
        return False
    hashes = path if old_size & (old_size - 1) else [old_root, *path]
    position, last = old_size - 1, size - 1
    while position & 1:
        position, last = position >> 1, last >> 1
    old_current = current = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            return False
        if position & 1 or position == last:
            old_current, current = node(sibling, old_current), node(sibling, current)
            while not position & 1 and position:
                position, last = position >> 1, last >> 1
        else:
            current = node(current, sibling)
        position, last = position >> 1, last >> 1
    return last == 0 and old_current == old_root and current == root


def open_checkpoint(text: str, vkey: str) -> tuple[str, int, bytes]:
    """Return origin, size and root of a checkpoint, after verifying its signature."""
    name, _, rest = vkey.strip().partition("+")
    key_hash, _, material = rest.partition("+")
    key = unbase64(material)
    if len(key) != 33 or key[0] != 1 or _key_id(name, key).hex() != key_hash:
        raise Wrong("expected an Ed25519 verifier key (name+hash+base64), got something else")
    body, separator, tail = text.rpartition("\n\n")
    lines = body.split("\n")
    if not separator or not tail.endswith("\n") or len(lines) < 3 or not re.fullmatch(r"0|[1-9]\d{0,18}", lines[1]):
        raise Wrong("expected a signed checkpoint, got something else")
    signatures = [re.fullmatch(r"— (\S+) (\S+)", line) for line in tail[:-1].split("\n")]
    if not all(signatures):
        raise Wrong("expected signature lines, got something else")
    blobs = [unbase64(match[2]) for match in signatures if match and match[1] == name]
    own = [blob[4:] for blob in blobs if blob[:4] == _key_id(name, key)]
    if lines[0] != name or not own:
        raise Wrong(f"expected a checkpoint signed by {name} (key hash {key_hash}), got one of {lines[0]}")
    for signature in own:
        try:
            Ed25519PublicKey.from_public_bytes(key[1:]).verify(signature, (body + "\n").encode())
        except InvalidSignature:
            raise Wrong(f"expected a valid signature by {name}, got another") from None
    root = unbase64(lines[2])
    if len(root) != 32:
        raise Wrong("expected a root hash of 32 bytes, got another")
    return lines[0], int(lines[1]), root


def _key_id(name: str, key: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + key).digest()[:4]


# --- states of controls -----------------------------------------------------------------------------------------------


def decide(control: dict[str, Any], by_check: dict[str, list[dict[str, Any]]], today: date) -> str:
    """Return the state of a control computed from the evidence."""
    if control["mapping"] is None:
        word = control["attestation"]
        attested = word and word["control"] == control["id"] and _counts(word["attested"], word["expires"], today)
        return "attested" if attested else "not-run"
    checks = {check: by_check.get(check, []) for check in control["mapping"]["checks"]}
    if not any(checks.values()):
        return "not-run"
    failed = {(check, r["target"]) for check, found in checks.items() for r in found if r["verdict"] == "FAIL"}
    if failed - _waived(control, today):
        return "fail"
    for found in checks.values():
        missing = {target for r in found for target in r["population"]} - {r["target"] for r in found}
        if not found or missing or any(r["verdict"] not in ("PASS", "WARN", "FAIL", "N/A") for r in found):
            return "error"
    if failed:
        return "waived"
    return "n-a" if all(r["verdict"] == "N/A" for found in checks.values() for r in found) else "pass"


def _waived(control: dict[str, Any], today: date) -> set[tuple[str, str]]:
    """Return (check, target) of the waivers in effect. A waiver needs two persons and an expiry date."""
    covered: set[tuple[str, str]] = set()
    for waiver in control["waivers"]:
        two_people = waiver["requested_by"].strip().casefold() != waiver["approved_by"].strip().casefold()
        if waiver["control"] == control["id"] and two_people and _counts(waiver["approved"], waiver["expires"], today):
            covered |= {(waiver["check"], target) for target in waiver["targets"]}
    return covered


def _counts(begin: str, end: str, today: date) -> bool:
    first, last = date.fromisoformat(begin), date.fromisoformat(end)
    return first <= today <= last and (last - first).days <= MAX_WAIVER_DAYS


def sentence(states: dict[str, int]) -> str:
    """Return the summary of the given counts."""
    parts = [f"{states[s]} {s}" for s in SUMMARY_ORDER if states[s] or s in ("pass", "fail", "error")]
    total = sum(states.values())
    return f"{total - states['not-run']} of {total} decided: {', '.join(parts)}; {states['not-run']} not run"


# --- the checks, in order ---------------------------------------------------------------------------------------------


def verify(folder: Path, kept_key: str | None = None) -> dict[str, Any]:
    """Run all checks.

    Args:
        kept_key: public key of the ledger from a trusted source; None: the key in the folder.

    Returns:
        `findings`, `facts`, `limits`: lists of sentences. Without findings, all checks passed.

    Raises:
        NoReport: no report.json of this format.
    """
    data, document = _read_document(folder)
    findings: list[str] = []
    facts: list[str] = []
    limits = [str(limit) for limit in document["limits"]] if isinstance(document.get("limits"), list) else []
    if kept_key is None:
        limits.insert(0, "The public key was read from this folder: the author of the report could have replaced it.")
    for step in (_verify_signature, _verify_evidence, _verify_controls, _verify_logged):
        try:
            step(folder, data, document, kept_key, findings, facts)
        except Wrong as wrong:
            findings.append(str(wrong))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
            findings.append(f"expected a whole report, found an invalid or missing field ({type(error).__name__})")
    return {"findings": findings, "facts": facts, "limits": limits}


def _read_document(folder: Path) -> tuple[bytes, dict[str, Any]]:
    try:
        data = (folder / "report.json").read_bytes()
        document = json.loads(data)
    except (OSError, ValueError, RecursionError) as error:
        raise NoReport(f"{folder / 'report.json'}: expected a report, got {type(error).__name__}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise NoReport(f"{folder / 'report.json'}: expected the format {FORMAT}, got another")
    return data, document


def _verify_signature(
    folder: Path, _: bytes, document: dict[str, Any], kept: str | None, findings: list[str], facts: list[str]
) -> None:
    ledger = document["ledger"]
    for name, text in (("checkpoint", ledger["checkpoint"]), ("log.vkey", ledger["vkey"] + "\n")):
        if _text(folder / name) != text:
            findings.append(f"{name}: expected what report.json says, got another")
    if kept is not None and kept.strip() != ledger["vkey"]:
        findings.append("the key you gave: expected the report's, got another")
    origin, size, root = open_checkpoint(ledger["checkpoint"], kept or ledger["vkey"])
    if (origin, size, root.hex()) != (ledger["origin"], ledger["size"], ledger["root"]):
        findings.append("ledger: expected what the checkpoint says, got another")
    facts.append(f"checkpoint: {size} entries of {origin}, signature is valid")


def _verify_evidence(
    folder: Path, _: bytes, document: dict[str, Any], kept: str | None, findings: list[str], facts: list[str]
) -> None:
    size, root = open_checkpoint(document["ledger"]["checkpoint"], kept or document["ledger"]["vkey"])[1:]
    seen: set[int] = set()
    for item in document["evidence"]:
        record, entry = item["record"], item["leaf"]
        where = f"{record['check_id']} on {record['target']}"
        digest = hashlib.sha256(canonical(record)).hexdigest()
        expected = {"type": "evidence", "run_id": document["run"]["id"], "sha256": digest} | {
            name: record[name] for name in ("raw_sha256", "check_id", "target", "verdict", "simulated")
        }
        if digest != item["sha256"]:
            findings.append(f"{where}: expected a record with digest {item['sha256'][:16]}, got {digest[:16]}")
        if entry != expected:
            findings.append(f"{where}: the ledger entry differs from the record")
        path = [unbase64(value) for value in item["proof"]]
        if not includes(leaf(entry), item["leaf_index"], size, path, root) or item["leaf_index"] in seen:
            findings.append(f"{where}: expected entry {item['leaf_index']} of the ledger, got no proof of it")
        seen.add(item["leaf_index"])
        raw = _bytes(folder / "raw" / _checked_digest(record["raw_sha256"]))
        if raw is None or hashlib.sha256(raw).hexdigest() != record["raw_sha256"]:
            findings.append(f"{where}: expected raw output {record['raw_sha256'][:16]}, got none or another")
    facts.append(f"evidence: {len(seen)} records; digests, raw output and inclusion were checked")


def _verify_controls(
    _: Path, __: bytes, document: dict[str, Any], ___: str | None, findings: list[str], facts: list[str]
) -> None:
    by_check: dict[str, list[dict[str, Any]]] = {}
    for item in document["evidence"]:
        by_check.setdefault(item["record"]["check_id"], []).append(item["record"])
    generated, ended = document["generated"], max((i["record"]["ended"] for i in document["evidence"]), default="")
    if generated[:19] < ended[:19]:  # both UTC, to the second; an earlier day could make a waiver count again
        findings.append(f"generated: the time of the report, {generated}, is before the end of the evidence, {ended}")
    today = date.fromisoformat(generated[:10])
    states = dict.fromkeys([*SUMMARY_ORDER, "not-run"], 0)
    for control in document["controls"]:
        state = decide(control, by_check, today)
        states[state] += 1
        if state != control["state"]:
            findings.append(f"{control['id']}: expected {state} from the evidence, got {control['state']}")
        checks = control["mapping"]["checks"] if control["mapping"] else []
        simulated = any(record["simulated"] for check in checks for record in by_check.get(check, []))
        if simulated != control["simulated"]:
            findings.append(f"{control['id']}: expected simulated {simulated}, got {control['simulated']}")
    summary, pack = document["summary"], document["pack"]
    if (
        summary["states"] != states
        or summary["sentence"] != sentence(states)
        or summary["total"] != len(document["controls"])
    ):
        findings.append(f"summary: expected {sentence(states)!r}, got {summary['sentence']!r}")
    if document["simulated"] != any(item["record"]["simulated"] for item in document["evidence"]):
        findings.append("simulated: expected what the evidence says, got another")
    listed = [
        {name: control[name] for name in ("id", "title", "family", "mapping")} for control in document["controls"]
    ]
    content = {name: pack[name] for name in ("name", "title", "source", "licence")} | {"controls": listed}
    if hashlib.sha256(canonical(content)).hexdigest() != pack["sha256"]:
        findings.append(f"pack: expected the controls of {pack['name']} with digest {pack['sha256'][:16]}, got others")
    facts.append(f"controls: {sentence(states)}; computed again from the evidence")


def _verify_logged(
    folder: Path, data: bytes, document: dict[str, Any], kept: str | None, findings: list[str], facts: list[str]
) -> None:
    """Verify that this report is an entry of a log that extends the checkpoint of the report (C2SP tlog-proof)."""
    vkey = kept or document["ledger"]["vkey"]
    head, separator, checkpoint = _text(folder / "report.tlog-proof").partition("\n\n")
    lines = head.split("\n")
    if not separator or lines[0] != "c2sp.org/tlog-proof@v1" or len(lines) < 3:
        raise Wrong("report.tlog-proof: expected a log proof, got none")
    extra = json.loads(unbase64(lines[1].removeprefix("extra ")))
    index, path = int(lines[2].removeprefix("index ")), [unbase64(line) for line in lines[3:]]
    origin, size, root = open_checkpoint(checkpoint, vkey)
    if not includes(leaf(extra["record"]), index, size, path, root):
        raise Wrong(f"report.tlog-proof: expected the report to be entry {index} of the ledger, got no proof of it")
    old = open_checkpoint(document["ledger"]["checkpoint"], vkey)
    if not extends(old[1], old[2], size, root, [unbase64(value) for value in extra["consistency"]]):
        raise Wrong("report.tlog-proof: expected a log that extends the report's checkpoint, got another")
    logged = extra["record"]
    if logged.get("type") != "report" or logged.get("run_id") != document["run"]["id"]:
        findings.append("report.tlog-proof: expected the entry of this report, got another")
    html, verifier = (_bytes(folder / name) or b"" for name in ("report.html", "verify_report.py"))
    for name, content, field in (
        ("report.json", data, "report_sha256"),
        ("report.html", html, "html_sha256"),
        ("verify_report.py", verifier, "verifier_sha256"),  # effective if another copy of this program runs
    ):
        if hashlib.sha256(content).hexdigest() != logged.get(field):
            findings.append(f"{name}: expected the content that was logged, got another")
    facts.append(f"logged: this report is entry {index} of {origin}")


def _checked_digest(text: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{64}", text):
        raise Wrong("expected a SHA-256 digest as a file name, got something else")
    return text


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _text(path: Path) -> str:
    try:
        return (_bytes(path) or b"").decode()
    except UnicodeDecodeError:
        return ""


def shown(text: str) -> str:
    """Return `text` with escaped control characters, because an altered report could contain terminal sequences."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Check a sovctl report without sovctl.")
    parser.add_argument(
        "folder", nargs="?", default=".", type=Path, help="folder of `sovctl report` (default: the current folder)"
    )
    parser.add_argument("--key", type=Path, help="public key (.vkey) of the ledger, kept outside the site")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(arguments)
    try:
        result = verify(options.folder, options.key.read_text() if options.key else None)
    except (NoReport, OSError, UnicodeDecodeError) as error:
        sys.stderr.write(f"{shown(str(error))}\n")
        return 3
    if options.json:
        sys.stdout.write(json.dumps(result, indent=2) + "\n")
    else:
        sections = (("FINDING", "findings"), ("checked", "facts"), ("limit", "limits"))
        for label, name in sections:
            for text in result[name]:
                sys.stdout.write(f"{label:8} {shown(text)}\n")
        sys.stdout.write(f"{'NOT OK' if result['findings'] else 'OK'}: {len(result['findings'])} findings\n")
    return 1 if result["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
