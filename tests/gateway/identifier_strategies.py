"""Texts with identifiers in them, for property tests of the whole way: published or reserved specimens, nobody's."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from sovctl.gateway.domain.entities import LABELS
from sovctl.gateway.tokens.token import ALPHABET, ID_CHARACTERS

SPECIMENS = (
    "DE89370400440532013000",
    "GB29 NWBK 6016 1331 9268 19",
    "anna.kovacs@example.com",
    "j-weber+x@mail.example.org",
    "4111 1111 1111 1111",
    "5500-0055-5555-5559",
    "+49 30 901820",
    "192.0.2.17",
    "AKIAIOSFODNN7EXAMPLE",
)

literals = st.builds(
    lambda label, body, case: case(f"{label}_{body}"),
    st.sampled_from(LABELS),
    st.text(ALPHABET, min_size=ID_CHARACTERS, max_size=ID_CHARACTERS),
    st.sampled_from([str.upper, str.lower, str.title]),
)
"""What looks like one of our tokens; one in 31 has the right check character."""

_awkward = st.sampled_from(
    [
        *('"', "\\", "\\\\", "\n", "\t", "'", "{", "}", "[", "](", "![x](", ")", "<", ">", "&amp;", "%40", "\\u0040"),
        *(
            "https://a.example/?q=",
            "//",
            "www.",
            "EMAIL_",
            "IBAN\\_",
            "_",
            "é",
            "日本",
            "İ",
            "\u200f",
            "مرحبا",
            "Привет",
        ),
    ]
)
# A blank on both sides: what runs on into the next letter is no identifier any more.
_specimens = st.sampled_from(SPECIMENS).map(lambda value: f" {value} ")

texts = st.lists(st.one_of(_specimens, _awkward, literals, st.text(max_size=8)), max_size=10).map("".join)
"""Text full of what could go wrong."""


def nested(leaves: st.SearchStrategy[str]) -> st.SearchStrategy[object]:
    """JSON of any shape whose strings are `leaves`, some of them JSON themselves."""
    scalars = st.one_of(leaves, st.integers(-99, 99), st.booleans(), st.none())
    keys = st.sampled_from(["a", "b", "note", "content", "name"])

    def around(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
        containers = st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3))
        # `arguments` are a JSON object or list as a string: OpenAI, chat completions, tool calls.
        return st.one_of(containers, st.dictionaries(st.just("arguments"), containers.map(json.dumps), max_size=1))

    return st.recursive(scalars, around, max_leaves=8)
