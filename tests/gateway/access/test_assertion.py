"""`x-sovctl-principal`: what RAG and tools are told, and that nobody else can say it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt
import pytest
import yaml
from access_givens import entry
from clients_digests import replace_clients
from echo_upstream import EchoUpstream
from hypothesis import given
from hypothesis import strategies as st

from sovctl.compliance.signing import SigningKey
from sovctl.gateway.access.assertion import HEADER, PrincipalSigner
from sovctl.gateway.access.principal import Method, Principal
from sovctl.gateway.commands.main import main

KEY = "test-key-of-the-assistant"
TEXTS = st.text(min_size=1, max_size=40)


def verified(token: str, jwks: dict[str, Any], audience: str) -> dict[str, Any]:
    """What a stranger's library makes of it."""
    keys = {key.key_id: key for key in jwt.PyJWKSet.from_dict(jwks).keys}
    key = keys[jwt.get_unverified_header(token)["kid"]]
    claims: dict[str, Any] = jwt.decode(
        token,
        key,
        algorithms=["EdDSA"],
        audience=audience,
        issuer="sovctl.lab/gateway",
        options={"require": ["exp", "jti"]},
    )
    return claims


@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=5), st.booleans())
def test_any_jwt_library_verifies_it_offline(name: str, tenant: str, groups: list[str], may_restore: bool) -> None:
    signer = PrincipalSigner([SigningKey.generate(), SigningKey.generate()], site="lab")
    who = Principal(name, tenant, Method.TOKEN, "k", groups=tuple(groups), may_restore=may_restore)
    token = signer.sign(who, audience="rag", request_id="r-1", now=time.time())
    claims = verified(token, signer.jwks, "rag")
    assert (claims["sub"], claims["tenant"], claims["groups"]) == (name, tenant, groups)
    assert (claims["jti"], claims["may_restore"], claims["exp"] - claims["iat"]) == ("r-1", may_restore, 60)
    assert token.isascii()


def test_another_upstream_another_key_and_a_minute_later_it_is_worth_nothing() -> None:
    old, new = SigningKey.generate(), SigningKey.generate()
    who = Principal("branch", "retail", Method.API_KEY, "k")
    token = PrincipalSigner([old], site="lab").sign(who, audience="rag", request_id="r", now=time.time())
    during = PrincipalSigner([new, old], site="lab").jwks
    assert verified(token, during, "rag")
    with pytest.raises(jwt.InvalidAudienceError):
        verified(token, during, "other")
    with pytest.raises(KeyError):
        verified(token, PrincipalSigner([new], site="lab").jwks, "rag")
    late = PrincipalSigner([old], site="lab").sign(who, audience="rag", request_id="r", now=time.time() - 61)
    with pytest.raises(jwt.ExpiredSignatureError):
        verified(late, during, "rag")
    head, claims, signature = token.split(".")
    with pytest.raises(jwt.InvalidSignatureError):
        verified(f"{head}.{claims}.{'B' if signature[0] == 'A' else 'A'}{signature[1:]}", during, "rag")


def with_principals(folder: Path, config: Path, *, is_cloud: bool = False) -> None:
    """Have the pool, or the cloud, told who is calling."""
    settings = yaml.safe_load(config.read_text())
    settings["upstreams"][1 if is_cloud else 0]["send_principal"] = True
    settings["access"] = {"principal_key_files": [str(folder / "principal.key")]}
    config.write_text(yaml.safe_dump(settings))


def test_the_pool_that_asks_is_told_and_the_cloud_never(
    tmp_path: Path,
    write_config: Callable[[Path], Path],
    start_from: Callable[..., Any],
    pool: EchoUpstream,
    cloud: EchoUpstream,
    capfd: Any,
) -> None:
    config = write_config(tmp_path)
    with_principals(tmp_path, config)
    clients = [entry("assistant", KEY, groups=["b", "a"])]
    replace_clients(config, json.dumps(clients))
    gateway = start_from(config, tmp_path / "log")
    client = gateway.client(KEY).chat.completions.with_raw_response
    # What a client says about itself is not passed on.
    answer = client.create(
        model="inside", messages=[{"role": "user", "content": "Hello"}], extra_headers={HEADER: "forged"}
    )
    client.create(model="assistant", messages=[{"role": "user", "content": "Hello there, how are you today?"}])
    assert main(["keys", "jwks", "--config", str(config)]) == 0
    jwks = json.loads(capfd.readouterr().out)
    (token,) = [value for name, value in headers_of(pool) if name == HEADER]
    claims = verified(token, jwks, "chat")
    assert (claims["sub"], claims["tenant"], claims["groups"]) == ("assistant", "retail", ["a", "b"])
    assert claims["jti"] == answer.headers["x-sovctl-request-id"]
    assert cloud.requests
    assert not [name for name, _ in headers_of(cloud) if name == HEADER]
    assert token not in gateway.log()


def headers_of(upstream: EchoUpstream) -> list[tuple[str, str]]:
    """Of every request it got."""
    return [pair for raw in upstream.raw for pair in eval(raw.rpartition(b"\n")[2])]  # our own repr of a list


@pytest.mark.parametrize("is_cloud", [True, False])
def test_a_cloud_that_would_be_told_and_a_missing_key_are_refused(
    tmp_path: Path, write_config: Callable[[Path], Path], capfd: Any, is_cloud: bool
) -> None:
    config = write_config(tmp_path)
    with_principals(tmp_path, config, is_cloud=is_cloud)
    if not is_cloud:
        settings = yaml.safe_load(config.read_text())
        config.write_text(yaml.safe_dump({**settings, "access": {}}))
    assert main(["check", "--config", str(config)]) == 3
    wanted = (
        "expected false for a cloud" if is_cloud else "upstreams[0].send_principal: expected access.principal_key_files"
    )
    assert wanted in capfd.readouterr().err
