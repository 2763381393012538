"""Signatures of two persons under a waiver: of the request, and of the approval with a key that the site lists.

    line = sign_waiver(text, site="berlin", role="approval", key=key, name="officer.example")
    signature_problem(waiver, {"site": "berlin", "approvers": [vkey]})    # "" if both persons signed

- Without listed keys, signatures are not required.
- The key of the approval is one of `approvers`, and differs from the key of the request.
- The signed text has the site, the role and every field of the waiver, so that a changed field voids both signatures.

Imports the standard library only, because `sovctl-verify.pyz` contains this module. Format: docs/formats.md.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sovctl.support.errors import InputError
from sovctl.support.plain_json import decode_base64, plain_json

from .verify_key import BadSignature, Signer, VerifyKey, parse_vkey

REQUEST, APPROVAL = ROLES = ("request", "approval")
_TERMS = ("id", "targets", "reason", "compensating", "requested_by", "approved_by", "approved", "expires")


def sign_waiver(text: Mapping[str, Any], *, site: str, role: str, key: Signer, name: str) -> str:
    """Return the signature of one person: role, public key and base64, separated by spaces.

    Args:
        text: the fields of the waiver as written, without its signatures.
        role: one of `ROLES`.
        name: key name of the person, without spaces.
    """
    signature = key.sign(_message(text, site, role))
    return f"{role} {key.public.vkey(name)} {base64.b64encode(signature).decode()}"


def signature_problem(waiver: Mapping[str, Any], policy: Mapping[str, Any] | None) -> str:
    """Return the reason why a waiver does not count; empty if it counts.

    Args:
        waiver: fields of a waiver of one control and one check, with `signed_text` and `signatures`.
        policy: `site`, its name, and `approvers`, C2SP vkey texts; None: no signature is required.
    """
    if not policy or not policy["approvers"]:
        return ""
    text, found = waiver.get("signed_text"), waiver.get("signatures") or ()
    if not isinstance(text, Mapping):
        return "no signatures"
    controls = text.get("controls", [])
    if any(text.get(name) != waiver[name] for name in _TERMS) or (controls and waiver["control"] not in controls):
        return "the signed text differs from the waiver"
    if waiver["check"] not in text.get("checks", []):
        return "the signed text has another check"
    keys: dict[str, set[VerifyKey]] = {role: set() for role in ROLES}
    try:
        approvers = {_key(each) for each in policy["approvers"]}
        for line in found:
            role, vkey, encoded = line.split(" ")
            key = _key(vkey)
            _verify(key, _message(text, str(policy["site"]), role), decode_base64(encoded))
            keys[role].add(key)
    except (BadSignature, InputError, ValueError, KeyError, AttributeError):
        return "an invalid signature"
    if not keys[REQUEST]:
        return "no signature of the request"
    if not keys[APPROVAL] & approvers:
        return "no approval by a listed key"
    if all(one == other for one in keys[REQUEST] for other in keys[APPROVAL] & approvers):
        return "request and approval have the same key"
    return ""


@lru_cache(maxsize=256)
def _key(vkey: str) -> VerifyKey:
    return parse_vkey(vkey)[1]


@lru_cache(maxsize=4096)  # a waiver of all controls with a check occurs once for each control
def _verify(key: VerifyKey, message: bytes, signature: bytes) -> None:
    key.verify(message, signature)


def _message(text: Mapping[str, Any], site: str, role: str) -> bytes:
    return b"sovctl waiver v1\n" + plain_json({"role": role, "site": site, "waiver": dict(text)})
