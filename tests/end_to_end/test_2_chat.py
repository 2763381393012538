"""Chats through the gateway: tokens outside, the client's own text inside; other text is processed on-prem."""

from __future__ import annotations

import json

import pytest
from lab_site import EMAIL, IBAN, SENT, LabSite

pytestmark = pytest.mark.lab

NAMED = "Please write to the customer Mr. Ola Nordmann about his loan today."
"""A name that Norway's own specimens use for nobody."""
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_cloud_sees_tokens_and_client_gets_its_own_text(site: LabSite, stream: bool) -> None:
    before = len(site.captured())
    answer = site.chat("assistant", SENT, stream=stream)
    assert answer == {"text": SENT, "route": "cloud"}
    new = site.captured()[before:]
    assert len(new) == 1
    kept = json.dumps(new)
    assert IBAN not in kept
    assert EMAIL not in kept
    said = json.loads(new[0]["body"])["messages"][-1]["content"]
    assert said.startswith("Please confirm the transfer to IBAN_")
    assert "EMAIL_" in said


def test_private_route_is_served_by_the_pool_and_nothing_leaves(site: LabSite) -> None:
    before = site.captured()
    assert site.chat("private", SENT, stream=True) == {"text": SENT, "route": "pool"}
    assert site.captured() == before


def test_a_persons_name_stays_on_prem(site: LabSite) -> None:
    before = site.captured()
    assert site.chat("assistant", NAMED, stream=False) == {"text": NAMED, "route": "pool"}
    assert site.captured() == before


def test_an_image_never_leaves(site: LabSite) -> None:
    """The pool's model takes text alone, so it refuses; what counts is that nobody else was asked."""
    before = site.captured()
    image = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": PIXEL}}]
    status, _, _ = site.post("assistant", image)
    assert status in (200, 400)
    assert site.captured() == before
