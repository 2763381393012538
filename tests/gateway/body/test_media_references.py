"""URLs, tensors and cached media are found wherever vLLM reads a content part, and text is not mistaken for them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.body.media_references import find_media_problem, media_urls_of

NONE = media_urls_of([])
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "a"]), inner, max_size=3)
    ),
    max_leaves=8,
)
_PARTS = st.one_of(
    st.builds(
        lambda field, nested, url: {field: {"url": url} if nested else url},
        st.sampled_from(["image_url", "audio_url", "video_url", "file_url"]),
        st.booleans(),
        st.text(min_size=1).filter(lambda url: url[:5].lower() != "data:"),
    ),
    st.builds(lambda field: {field: "AAAA"}, st.sampled_from(["image_embeds", "prompt_embeds", "image_pil"])),
    st.builds(lambda kind: {"type": kind, "data": "AAAA"}, st.sampled_from(["image_embeds", "prompt_embeds"])),
    st.builds(lambda uuid: {"type": "input_audio", "input_audio": {}, "uuid": uuid}, st.text()),
    st.just({"type": "image", "source": {"type": "url", "url": "https://a.example/"}}),
)


@examples(300)
@given(_JSON)
def test_finds_nothing_in_other_json(content: Any) -> None:
    assert find_media_problem(content, NONE) is None


@examples(400)
@given(
    _PARTS, st.lists(st.sampled_from(["list", "content", "output", "source"]), max_size=6), st.lists(_JSON, max_size=2)
)
def test_finds_a_part_at_any_depth(part: dict[str, Any], wrappers: list[str], beside: list[Any]) -> None:
    content: Any = [*beside, part]
    for wrapper in wrappers:
        content = [content] if wrapper == "list" else {"type": "tool_result", wrapper: content}
    assert find_media_problem(content, NONE) is not None


@examples(300)
@given(st.text(max_size=30))
def test_only_a_path_or_a_query_follows_an_allowed_host(rest: str) -> None:
    url = f"https://media.bank.example{rest}"
    if find_media_problem({"image_url": url}, media_urls_of(["media.bank.example"])) is None:
        assert rest[:1] in ("", "/", "?")
        assert rest.isascii()
        assert rest.isprintable()
        assert "\\" not in rest
