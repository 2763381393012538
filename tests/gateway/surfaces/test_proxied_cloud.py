"""A cloud behind an HTTP proxy, seen from the client of a real gateway."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from connect_proxy import ConnectProxy
from surface_givens import IBAN, PROMPT, assert_clean, audited, post

PASSWORD = "a-password-of-the-proxy"
BODY = {"model": "assistant", "messages": [{"role": "user", "content": PROMPT}]}


@pytest.fixture(params=["plain", "tls"])
def proxy(request: pytest.FixtureRequest, pki: Any) -> Iterator[ConnectProxy]:
    context = None
    if request.param == "tls":
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(pki.certificate_file, pki.key_file)
    with ConnectProxy(context, f"gateway:{PASSWORD}") as made:
        yield made


def proxied(
    start_from: Callable[..., Any],
    write_config: Callable[[Path], Path],
    folder: Path,
    proxy: ConnectProxy,
    ca_file: Path,
    password: str = PASSWORD,
) -> Any:
    config = write_config(folder)
    (folder / "proxy.password").write_text(password)
    (folder / "proxy.password").chmod(0o600)
    settings = yaml.safe_load(config.read_text())
    settings["upstreams"][1]["proxy"] = {
        "url": proxy.url,
        "user": "gateway",
        "password_file": str(folder / "proxy.password"),
        **({"ca_file": str(ca_file)} if proxy.tls else {}),
    }
    config.write_text(yaml.safe_dump(settings))
    return start_from(config, folder / "log")


def test_clouds_are_asked_through_their_proxy(
    start_from: Any, write_config: Any, proxy: ConnectProxy, pki: Any, pool: Any, cloud: Any, tmp_path: Path
) -> None:
    gateway = proxied(start_from, write_config, tmp_path, proxy, pki.ca_file)
    for _ in range(3):
        status, headers, answer = post(gateway, "/v1/chat/completions", BODY)
        assert (status, headers["x-sovctl-route"]) == (200, "cloud")
        assert IBAN in answer["choices"][0]["message"]["content"]
    streamed = gateway.client().chat.completions.create(**BODY, stream=True)
    assert IBAN in "".join(chunk.choices[0].delta.content or "" for chunk in streamed if chunk.choices)
    assert_clean(cloud)
    assert len(proxy.requests) < 4  # tunnels are used again
    assert b"IBAN_" not in proxy.tunnelled
    assert pool.requests == []
    assert PASSWORD not in gateway.log()


def test_a_rejected_password_leaves_the_request_to_the_pool_and_the_password_out_of_the_log(
    start_from: Any, write_config: Any, proxy: ConnectProxy, pki: Any, pool: Any, cloud: Any, tmp_path: Path
) -> None:
    wrong = "another-password-of-the-proxy"
    gateway = proxied(start_from, write_config, tmp_path, proxy, pki.ca_file, wrong)
    status, headers, _ = post(gateway, "/v1/chat/completions", BODY)
    assert (status, headers["x-sovctl-route"]) == (200, "pool")
    assert cloud.requests == []
    assert audited(gateway)["upstream"] == "sovereign-cloud"
    answer = [record for record in gateway.records() if record["type"] == "gateway.answer"][-1]
    assert answer["attempts"][0] == "sovereign-cloud/0:proxy-407"
    told = gateway.log() + gateway.request("GET", "/readyz")[2].decode() + repr(gateway.records())
    assert "proxy-407" in told
    assert wrong not in told
    assert PASSWORD not in told
