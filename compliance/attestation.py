"""Signed statements about files: in-toto Statement v1 in a DSSE envelope. Imports the standard library only.

    envelope = sign(statement(files, predicate), key)
    found = verified(envelope, [key.public])           # the statement; raises BadSignature

Formats: in-toto Attestation Framework v1 (Statement), DSSE v1 (Pre-Authentication Encoding), predicate Simple
Verification Result v0.1; in-toto/attestation and secure-systems-lab/dsse, read 2026-11.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sovctl.support.plain_json import decode_base64, plain_json

from .verify_key import BadSignature, Signer, VerifyKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://in-toto.io/attestation/svr/v0.1"


def statement(files: Mapping[str, str], predicate: Mapping[str, Any]) -> dict[str, Any]:
    """Return a statement about files.

    Args:
        files: SHA-256 by path.
        predicate: a Simple Verification Result.
    """
    subjects = [{"name": name, "digest": {"sha256": files[name]}} for name in sorted(files)]
    return {
        "_type": STATEMENT_TYPE,
        "subject": subjects,
        "predicateType": PREDICATE_TYPE,
        "predicate": dict(predicate),
    }


def sign(value: Mapping[str, Any], key: Signer) -> dict[str, Any]:
    """Return the envelope of a statement with one signature."""
    payload = plain_json(value)
    signature = key.sign(_encoded(payload))
    return {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [{"keyid": key.public.keyid, "sig": base64.b64encode(signature).decode()}],
    }


def verified(envelope: Mapping[str, Any], keys: Iterable[VerifyKey]) -> tuple[dict[str, Any], list[VerifyKey]]:
    """Return the statement of an envelope, and the keys that signed it.

    Args:
        keys: trusted keys. Signatures of other keys are ignored.

    Raises:
        BadSignature: a signature of a trusted key is wrong, or the envelope is not one of a statement.
    """
    found, payload = _opened(envelope)
    by_id = {key.keyid: key for key in keys}
    signed: list[VerifyKey] = []
    for each in _signatures(envelope):
        key = by_id.get(str(each.get("keyid")))
        if key and key not in signed:
            try:
                signature = decode_base64(str(each.get("sig", "")))
            except ValueError:
                raise BadSignature("the signature is not valid base64") from None
            key.verify(_encoded(payload), signature)
            signed.append(key)
    return found, signed


def key_ids(envelope: Mapping[str, Any]) -> list[str]:
    """Return the key ids of an envelope. They are not verified."""
    return [str(each.get("keyid")) for each in _signatures(envelope)]


def files_of(value: Mapping[str, Any]) -> dict[str, str]:
    """Return the SHA-256 by path of a statement.

    Raises:
        BadSignature: a subject has no name or SHA-256.
    """
    try:
        return {str(each["name"]): str(each["digest"]["sha256"]) for each in value["subject"]}
    except (KeyError, TypeError):
        raise BadSignature("the statement has a subject without name or SHA-256") from None


def _opened(envelope: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    if envelope.get("payloadType") != PAYLOAD_TYPE:
        raise BadSignature(f"expected an envelope of {PAYLOAD_TYPE}")
    try:
        payload = decode_base64(str(envelope.get("payload", "")))
        found = json.loads(payload)
    except (ValueError, RecursionError):
        raise BadSignature("the envelope has no readable statement") from None
    if not isinstance(found, dict) or found.get("_type") != STATEMENT_TYPE:
        raise BadSignature(f"expected a statement of type {STATEMENT_TYPE}")
    if found.get("predicateType") != PREDICATE_TYPE or not isinstance(found.get("predicate"), dict):
        raise BadSignature(f"expected a statement with the predicate {PREDICATE_TYPE}")
    return found, payload


def _signatures(envelope: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    found = envelope.get("signatures")
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _encoded(payload: bytes) -> bytes:
    """Return the signed bytes (DSSE v1, protocol, PAE): type and payload with their lengths."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
