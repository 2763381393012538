"""Tokens of an identity provider: who is let in, who is not, and how keys change."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt
import pytest
from access_givens import entry, settings_with
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import RSAAlgorithm
from oidc_givens import AUDIENCE, ISSUER, KEYS, JwksServer, claims, jwk, jwks, token
from pydantic import ValidationError

from sovctl.gateway.access.authenticator import Authenticator
from sovctl.gateway.access.certificate import Peer
from sovctl.gateway.access.jwks import BadJwks, parse_jwks
from sovctl.gateway.access.oidc import Issuer, TokenRefused
from sovctl.gateway.access.principal import Method, Principal
from sovctl.gateway.settings import GatewaySettings, IdentityProviderSettings

GRANTS = [
    {"group": "operators", "tenant": "bank", "is_admin": True},
    {"group": "cards", "tenant": "retail", "team": "cards", "routes": ["assistant"], "may_restore": False},
    {"group": "staff", "tenant": "retail"},
]


def issuer_settings(folder: Path, *kids: str, **changes: Any) -> dict[str, Any]:
    path = folder / "jwks.json"
    path.write_bytes(jwks(*(kids or ("rsa", "ec", "ed"))))
    return {"name": "idp", "issuer": ISSUER, "audience": AUDIENCE, "jwks_file": path, "grants": GRANTS, **changes}


def settings(folder: Path, *kids: str, **changes: Any) -> GatewaySettings:
    teams = [{"name": "cards", "tenant": "retail"}]
    return settings_with(folder, [entry()], teams=teams, identity_providers=[issuer_settings(folder, *kids, **changes)])


def identify(made: GatewaySettings, *credentials: str, peer: Peer | None = None) -> list[Principal | None]:
    """Who each of these is, asked one after the other of one process."""

    async def ask() -> list[Principal | None]:
        async with Authenticator(made) as authenticator:
            return [await authenticator.identify(each, peer) for each in credentials]

    return asyncio.run(ask())


@pytest.mark.parametrize("kid", ["rsa", "ec", "ed"])
def test_a_good_token_gives_name_tenant_team_groups_and_rights(tmp_path: Path, kid: str) -> None:
    (found,) = identify(settings(tmp_path), token(kid))
    assert found is not None
    assert (found.name, found.tenant, found.team, found.groups) == ("idp:5f1c", "retail", "cards", ("cards", "staff"))
    assert (found.method, found.may_restore, found.is_admin) == (Method.TOKEN, False, False)
    assert found.may_use("assistant")
    assert not found.may_use("inside")


def test_the_first_row_whose_group_fits_decides(tmp_path: Path) -> None:
    admin, staff, nobody = identify(
        settings(tmp_path), token(groups=["staff", "operators"]), token(groups="staff"), token(groups=["guests"])
    )
    assert admin is not None
    assert (admin.tenant, admin.is_admin) == ("bank", True)
    assert staff is not None
    assert (staff.team, staff.may_restore) == (None, True)
    assert nobody is None


def test_groups_may_be_nested(tmp_path: Path) -> None:
    made = settings(tmp_path, groups_claim="realm_access.roles")
    assert identify(made, token(groups=None, realm_access={"roles": ["staff"]}))[0] is not None
    assert identify(made, token(groups=["staff"], realm_access="x"))[0] is None


def after(seconds: int) -> int:
    """So long after now; asked when a test runs, which may be an hour after this file was read."""
    return int(time.time()) + seconds


PUBLIC_PEM = (
    KEYS["rsa"].public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
)


def unsigned() -> str:
    return jwt.encode(claims(), None, "none", headers={"kid": "rsa"})


def signed_with_the_public_key() -> str:
    """The classic confusion of algorithms: HMAC with the public key as the secret."""
    import hashlib
    import hmac

    def part(content: Any) -> bytes:
        return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=")

    signed = part({"alg": "HS256", "typ": "JWT", "kid": "rsa"}) + b"." + part(claims())
    return (
        signed + b"." + base64.urlsafe_b64encode(hmac.digest(PUBLIC_PEM, signed, hashlib.sha256)).rstrip(b"=")
    ).decode()


BAD: dict[str, tuple[Callable[[], str], str]] = {
    "expired": (lambda: token(iat=after(-1000), exp=after(-31)), "expired"),
    "not yet valid": (lambda: token(nbf=after(300)), "not-yet-valid"),
    "issued in the future": (lambda: token(iat=after(300), exp=after(400)), "not-yet-valid"),
    "another audience": (lambda: token(aud="other"), "audience"),
    "no audience": (lambda: token(aud=None), "claim-missing"),
    "another issuer": (lambda: token(iss="https://evil.example"), "issuer"),
    "no issuer": (lambda: token(iss=None), "claim-missing"),
    "no subject": (lambda: token(sub=None), "claim-missing"),
    "no end": (lambda: token(exp=None), "claim-missing"),
    "no beginning": (lambda: token(iat=None), "claim-missing"),
    "too long a life": (lambda: token(exp=after(90_000)), "lifetime"),
    "a control character in the subject": (lambda: token(sub="a\nb"), "subject"),
    "an endless subject": (lambda: token(sub="a" * 257), "subject"),
    "groups that are no texts": (lambda: token(groups=["staff", 1]), "groups"),
    "too many groups": (lambda: token(groups=["staff", *map(str, range(512))]), "groups"),
    "no group of ours": (lambda: token(groups=None), "no-group"),
    "unsigned": (unsigned, "algorithm"),
    "signed with the public key": (signed_with_the_public_key, "algorithm"),
    "signed by another key": (lambda: token("ec", headers={"kid": "next"}), "unknown-key"),
    "signed by another key of the set": (lambda: token("ec", headers={"kid": "rsa"}), "unknown-key"),
    "no kid where there is a choice": (lambda: token("rsa", algorithm="RS256", headers={"kid": "gone"}), "unknown-key"),
    "an algorithm that is not listed": (lambda: token("rsa", algorithm="RS512"), "algorithm"),
    "a signature that was altered": (
        lambda: token()[:-4] + ("AAAA" if token()[-4:] != "AAAA" else "BBBB"),
        "signature",
    ),
    "bound to a key we can't check": (lambda: token(cnf={"jkt": "x"}), "bound-otherwise"),
    "an extension we must understand": (lambda: token(headers={"kid": "rsa", "crit": ["x"], "x": 1}), "malformed"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_token_is_refused_that_is(tmp_path: Path, name: str) -> None:
    make, reason = BAD[name]
    made = settings(tmp_path)
    issuer = Issuer(made.access.identity_providers[0], made.access.teams)
    asyncio.run(issuer.source.refresh())
    with pytest.raises(TokenRefused) as caught:
        issuer.verify(make())
    assert str(caught.value) == reason
    assert identify(made, make()) == [None]


def test_leeway_covers_clocks_that_differ(tmp_path: Path) -> None:
    now = int(time.time())
    assert identify(settings(tmp_path, leeway_s=60), token(exp=now - 20, iat=now + 20))[0] is not None
    assert identify(settings(tmp_path, leeway_s=0), token(exp=now - 2, iat=now - 60))[0] is None


def test_a_claim_that_the_site_requires_must_be_there(tmp_path: Path) -> None:
    made = settings(tmp_path, required_claims=["nbf"])
    without, with_it = identify(made, token(), token(nbf=after(0)))
    assert without is None
    assert with_it is not None


@given(st.text(max_size=60), st.text(max_size=30))
def test_invalid_token_is_rejected(tmp_path_factory: Any, text: str, more: str) -> None:
    made = settings(tmp_path_factory.mktemp("oidc"))
    assert identify(made, f"{text}.{more}.{text}", f"eyJ{text}.eyJ{more}.x") == [None, None]


def test_deeply_nested_token_is_rejected(tmp_path: Path) -> None:
    deep = base64.urlsafe_b64encode(b"[" * 9000).decode()
    header = token().split(".")[0]
    assert identify(settings(tmp_path), f"{header}.{deep}.x", f"{deep}.{deep}.x") == [None, None]


def test_a_verified_token_is_remembered_until_it_ends(tmp_path: Path) -> None:
    made = settings(tmp_path)
    now = [time.time()]

    async def ask() -> None:
        async with Authenticator(made, clock=lambda: now[0]) as authenticator:
            good = token(exp=int(now[0]) + 600)
            assert authenticator.known(good) is None
            first = await authenticator.identify(good)
            assert first is not None
            assert authenticator.known(good) is first
            now[0] += 629
            assert authenticator.known(good) is first
            now[0] += 2
            assert authenticator.known(good) is None

    asyncio.run(ask())


def test_a_token_bound_to_a_certificate_is_good_with_it_alone(tmp_path: Path) -> None:
    bound = token(cnf={"x5t#S256": "thumb"})
    later = time.time() + 60
    made = settings(tmp_path)
    assert identify(made, bound, bound) == [None, None]
    assert identify(made, bound, peer=Peer((), "other", later)) == [None]
    assert identify(made, bound, peer=Peer((), "thumb", 0)) == [None]
    assert identify(made, bound, peer=Peer((), "thumb", later))[0] is not None


def test_a_new_key_is_fetched_when_a_token_names_it_and_not_for_every_stranger(tmp_path: Path, pki: Any) -> None:
    with JwksServer(pki.certificate_file, pki.key_file, jwks("ec")) as server:
        made = settings(tmp_path, jwks_file=None, jwks_url=server.url, ca_file=pki.ca_file)

        async def ask() -> None:
            async with Authenticator(made) as authenticator:
                assert await authenticator.identify(token("ec"))
                assert server.asked == 1
                issuer = next(iter(authenticator._issuers.values()))
                issuer.source._asked_at -= 11  # ten seconds pass
                server.content = jwks("next")
                assert await authenticator.identify(token("next"))
                assert server.asked == 2
                for _ in range(20):
                    assert await authenticator.identify(token("ed")) is None
                assert server.asked == 2
                assert await authenticator.identify(token("ec")) is None  # its key was withdrawn

        asyncio.run(ask())


def test_keys_outlive_a_silent_issuer_for_a_while_and_then_nobody_is_let_in(tmp_path: Path, pki: Any) -> None:
    with JwksServer(pki.certificate_file, pki.key_file, jwks("ec")) as server:
        made = settings(tmp_path, jwks_file=None, jwks_url=server.url, ca_file=pki.ca_file, max_stale_s=600)
        now = [0.0]

        async def ask() -> None:
            async with Authenticator(made) as authenticator:
                source = next(iter(authenticator._issuers.values())).source
                source._clock = lambda: now[0]
                await source.refresh()
                for status, content in (
                    (500, b""),
                    (302, jwks("ec")),
                    (200, b"{}"),
                    (200, b"[" * 99),
                    (200, b" " * 2**21),
                ):
                    server.status, server.content = status, content
                    await source.refresh()
                assert await authenticator.identify(token("ec"))
                assert authenticator.wrong() == {}
                now[0] = 601.0
                assert await authenticator.identify(token("ec", sub="another")) is None
                assert authenticator.wrong() == {"oidc:idp": "no usable keys"}

        asyncio.run(ask())


def test_an_issuer_that_no_authority_vouches_for_is_not_believed(tmp_path: Path, pki: Any) -> None:
    with JwksServer(pki.certificate_file, pki.key_file, jwks("ec")) as server:
        made = settings(tmp_path, jwks_file=None, jwks_url=server.url)
        assert identify(made, token("ec")) == [None]
        assert server.asked == 0


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [{"kty": "oct", "k": "c2VjcmV0", "kid": "rsa"}],
        [jwk("rsa", use="enc")],
        [jwk("rsa", n="AQAB")],
        [{"kty": "RSA"}],
        [RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 1024).public_key(), as_dict=True)],
        "x",
        [1],
    ],
)
def test_a_set_without_a_key_that_signs_is_none(entries: Any) -> None:
    with pytest.raises(BadJwks):
        parse_jwks(json.dumps({"keys": entries}).encode())


def test_a_key_is_good_for_the_algorithms_of_its_kind_alone() -> None:
    keys = parse_jwks(json.dumps({"keys": [jwk("rsa"), jwk("ec"), jwk("ed"), jwk("next", alg="ES384")]}).encode())
    for kid, algorithm, is_good in (
        ("rsa", "PS256", True),
        ("rsa", "ES256", False),
        ("ec", "ES256", True),
        ("ec", "ES384", False),
        ("ed", "EdDSA", True),
        ("next", "ES256", False),
        ("next", "ES384", False),
        (None, "EdDSA", True),
    ):
        assert (keys.find(kid, algorithm) is not None) == is_good


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithms": ["HS256"]}, "algorithms"),
        ({"algorithms": []}, "algorithms"),
        ({"jwks_file": None}, "expected one of jwks_file and jwks_url, got neither"),
        ({"jwks_url": "https://127.0.0.1/x"}, "got both"),
        ({"jwks_file": None, "jwks_url": "http://10.0.0.1/x"}, "expected https"),
        ({"grants": []}, "grants"),
    ],
)
def test_unsafe_settings_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        IdentityProviderSettings.model_validate(issuer_settings(tmp_path, **changes))
