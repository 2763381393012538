"""Models, as OpenAI's client lists and retrieves them, and as Anthropic's does."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from surface_givens import API_KEY


def test_a_model_is_retrieved_by_its_name(gateway: Any) -> None:
    model = gateway.client().models.retrieve("careful")
    assert (model.id, model.object, model.owned_by) == ("careful", "model", "lab")
    with pytest.raises(openai.NotFoundError):
        gateway.client().models.retrieve("nobody")
    with pytest.raises(openai.NotFoundError):
        gateway.client("test-key-of-another-tenant").models.retrieve("careful")


def test_a_model_may_be_called_like_a_path(start: Any) -> None:
    gateway = start(routes=[{"model": "site/chat", "pool": "chat"}])
    assert gateway.client().models.retrieve("site/chat").id == "site/chat"


def test_anthropic_clients_get_their_own_shape(gateway: Any) -> None:
    headers = {"authorization": f"Bearer {API_KEY}", "anthropic-version": "2023-06-01"}
    listed = json.loads(gateway.request("GET", "/v1/models", None, headers)[2])
    assert [each["id"] for each in listed["data"]] == ["assistant", "careful", "inside"]
    assert (listed["first_id"], listed["last_id"], listed["has_more"]) == ("assistant", "inside", False)
    one = json.loads(gateway.request("GET", "/v1/models/inside", None, headers)[2])
    assert (one["type"], one["display_name"]) == ("model", "inside")
