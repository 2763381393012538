"""Old keys of gateway.yaml are errors that name the new key, together with every other problem of the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from sovctl.gateway.settings import check_settings
from sovctl.gateway.settings.renamed_keys import RENAMED_KEYS
from sovctl.support.errors import SpecError
from sovctl.support.renamed_keys import move_renamed_keys

SETTINGS = {
    "site": "lab",
    "listen": {"certificate_file": "x", "key_file": "x", "client_ca_file": "x", "requires_certificate": True},
    "clients_file": "x",
    "token_key_file": "x",
    "vault": {"path": "x", "kek_file": "x"},
    "ledger": {"directory": "x", "key_file": "x", "origin": "x"},
    "upstreams": [{"name": "chat", "kind": "pool", "base_urls": ["https://127.0.0.1:1/v1"], "model": "echo"}],
    "routes": [
        {"model": "assistant", "pool": "chat", "also": ["chta"], "release": {"citations": {"on_doubt": "refuse"}}}
    ],
    "quota": {
        "path": "x",
        "each_caller": {"tokens_per_day": 1},
        "prices": {"currency": "EUR", "upstreams": {"chat": {"prompt_per_million": 1, "completion_per_million": 2}}},
    },
}


def test_old_keys_are_reported_together_with_other_problems() -> None:
    with pytest.raises(SpecError) as caught:
        check_settings(SETTINGS, Path("gateway.yaml"))
    said = {each.where.removeprefix("gateway.yaml: "): each.message for each in caught.value.problems}
    assert said == {
        "listen.requires_certificate": "the key was renamed to `listen.requires_client_certificate`",
        "quota.each_caller": "the key was renamed to `quota.default_limits`",
        "quota.prices.upstreams.chat.prompt_per_million": (
            "the key was renamed to `quota.prices.upstreams.*.input_price_per_million`"
        ),
        "quota.prices.upstreams.chat.completion_per_million": (
            "the key was renamed to `quota.prices.upstreams.*.output_price_per_million`"
        ),
        "routes[0].also": "the key was renamed to `routes[].fallbacks`",
        "routes[0].release.citations.on_doubt": "the key was renamed to `routes[].release.citations.on_failure`",
        "routes[0].fallbacks[0]": "unknown upstream chta",
    }


def test_settings_with_their_keys_moved_are_valid() -> None:
    moved, _ = move_renamed_keys(SETTINGS, RENAMED_KEYS)
    moved["routes"][0]["fallbacks"] = []
    settings = check_settings(moved, Path("gateway.yaml"))
    assert settings.listen.requires_client_certificate
    assert settings.quota.default_limits.tokens_per_day == 1
