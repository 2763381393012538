"""Every figure of the source documents, its verdict held to the arithmetic that sizes a site."""

from __future__ import annotations

from pathlib import Path

import pytest

from sovctl.engine.sizing.report.published_claims import COMPUTED, Claim, Verdict, load_claims, page

DOCS = Path(__file__).parents[3] / "docs"
CLAIMS = load_claims()


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.id)
def test_the_verdict_is_what_the_arithmetic_says(claim: Claim) -> None:
    assert claim.judged() is claim.verdict, f"said {claim.said:g} {claim.unit}, computed {claim.computed():g}"
    assert claim.because


def test_every_claim_is_computed_and_nothing_else_is() -> None:
    assert COMPUTED.keys() == CLAIMS.keys()
    assert sum(claim.verdict is not Verdict.OK for claim in CLAIMS.values()) >= 40


# What the research computed on its own, apart from this package (its section 1).
@pytest.mark.parametrize(
    ("claim", "computed", "within"),
    [
        ("s3-worked-example-kv", 214.7, 0.001),
        ("s0-cluster-sessions-4k", 4521, 0.02),
        ("s0-racks", 3, 0),
        ("s4-70b-int4", 38.5, 0.05),
        ("s4-70b-fp4", 39.7, 0.09),
        ("s4-break-even", 460.8, 0),
        ("s4-per-million-engine", 1.157, 0.001),
        ("s4-prefill", 554, 0.25),  # with one share of the peak for narrow and wide models alike
        ("s3-150-in-flight", 28, 0.02),
    ],
)
def test_the_research_computed_the_same(claim: str, computed: float, within: float) -> None:
    assert CLAIMS[claim].computed() == pytest.approx(computed, rel=within)


def test_a_claim_that_became_right_is_noticed() -> None:
    wrong = CLAIMS["s3-nvlink-pcie"]
    assert wrong.model_copy(update={"said": 7.0}).judged() is Verdict.OK


def test_the_page_is_current() -> None:
    assert (DOCS / "sizing-claims.md").read_text() == page(), (
        "python -m sovctl.engine.sizing.report.published_claims docs"
    )
