"""Sentences: cut where people would, in many scripts, the same however the text arrives."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.release.sentences import MARK, Sentences


def cut(text: str) -> list[str]:
    sentences = Sentences()
    return [*sentences.feed(text), *sentences.flush()]


CASES = [
    ["It costs 3.5 %. ", "Dr. Who pays. ", "Fine!"],
    ["The rate is 4 %. [1] ", "It rose. [2][3] ", "Is it fixed? ", "No."],
    ["The rate is 4 % [1]. ", "It rose [2, 3]. ", "See [4](https://kb.example/a). ", "Done."],
    ["He said “it rose.” [1] ", "Then (and only then!) it fell."],
    ["Visit example.com or 192.0.2.17 at 10 a.m. on Monday. ", "Version 2.4.1 works."],
    ["First.\n\n", "# Heading\n", "Text that\ngoes on. ", "End."],
    ["Steps:\n", "1. Open the account\n", "2. Sign. ", "Then wait\n", "- one\n", "- two"],
    ["Run this:\n\n", "```python\nx = 1. \ny = 'a. B'\n```\n", "It works."],
    ["| a | b |\n", "|---|---|\n", "| 1. | 2. |"],
    ["Ставка 3,5 % годовых. [1] ", "Об этом сказано в п. 4 договора. ", "Адрес: г. Москва, ул. Мира."],
    ["Überweisung z. B. am 3. Mai bzw. später. ", "Danke!"],
    ["Oprocentowanie wynosi 4 % w skali roku. ", "Zob. ust. 3 umowy."],
    ["كم السعر؟ ", "السعر مئة درهم. ", "شكرا"],
    ["قیمت سو روپے ہے۔ ", "شکریہ۔"],
    ["年利率は四％です。", "固定ですか？", "はい。[1]", "以上"],
    ["年利率为百分之四。[1] ", "这是固定的！", "谢谢。"],
    ["दर चार प्रतिशत है। ", "धन्यवाद।"],
    ["Wait... what? ", "Really?! ", "Yes."],
    ["A [note in brackets] stays. ", "An index [i] too."],
]


@pytest.mark.parametrize("expected", CASES, ids=lambda case: case[0][:20].encode("unicode_escape").decode())
def test_a_text_is_cut_where_people_would(expected: list[str]) -> None:
    assert cut("".join(expected)) == expected


PIECES = st.sampled_from(
    [
        *(
            "Dr. ",
            "It is so. ",
            "[1] ",
            "[1",
            "](http://x)",
            "```\n",
            "\n",
            "\n\n",
            "- x",
            "1. ",
            "z. B. ",
            " ",
            "3.5",
            "?",
        ),
        *(
            "。",
            "！」",
            "؟ ",
            "। ",
            "lower",
            "Upper",
            "”",
            ")",
            "*",
            "【2】",
            "[not a mark, really, it has words] ",
            "…",
            "e.g. ",
        ),
    ]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join) | st.text(max_size=60)


@examples(400)
@given(TEXTS, st.data())
@example("a. [1", None)
def test_the_cuts_are_the_same_however_the_text_arrives(text: str, data: st.DataObject | None) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8))) if data else list(range(len(text)))
    sentences = Sentences()
    found = [
        sentence
        for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)
        for sentence in sentences.feed(text[start:end])
    ]
    found += sentences.flush()
    assert "".join(found) == text
    assert found == cut(text)
    assert all(found)


def test_a_sentence_is_given_out_as_soon_as_its_end_is_known() -> None:
    sentences = Sentences()
    assert sentences.feed("It is so.") == []
    assert sentences.feed(" ") == []  # a citation mark may follow
    assert sentences.feed("N") == ["It is so. "]
    assert sentences.held == 1
    assert sentences.feed("ext。") == []
    assert sentences.feed("次") == ["Next。"]


def test_what_waits_can_be_taken_at_a_space_and_the_rest_stays() -> None:
    sentences = Sentences()
    sentences.feed("one two three four")
    assert sentences.force(8) == "one two "
    assert sentences.force(80) == ""
    assert sentences.flush() == ["three four"]


def test_marks_name_their_sources() -> None:
    assert [match["ids"] for match in MARK.finditer("a [1] b [kb-7, 2] 【3】 [4-6] [^5] [7](https://a.example/x)")] == [
        *("1", "kb-7, 2", "3", "4-6", "^5", "7")
    ]


@pytest.mark.parametrize(
    "text", ["." * 200_000, "\n" * 200_000, "[" * 200_000, "a. [" * 50_000, "`" * 200_000, "1. " * 70_000]
)
def test_long_and_odd_texts_are_cut_without_losing_anything(text: str) -> None:
    assert "".join(cut(text)) == text
