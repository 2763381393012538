"""Every combination of answers gives a site.yaml that passes `sovctl validate`, with the answers in it."""

from __future__ import annotations

from datetime import date
from functools import cache
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sovctl.engine.new_site.answers import BY_FIELD, QUESTIONS, NewSite, choices, default, parse, with_defaults
from sovctl.engine.new_site.offers import fitting, problems_of
from sovctl.engine.new_site.text import check, site_text
from sovctl.engine.validation.load import load
from sovctl.support.errors import InputError, SpecError

TODAY = date(2026, 11, 28)
PATH, ROOT = Path("site.yaml"), Path(__file__).parents[3]
_WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=12, max_size=40)


def addresses(third: int, *, least: int, most: int) -> st.SearchStrategy[list[IPv4Address]]:
    """Different addresses of one network, so that the lists of a site do not overlap."""
    last = st.lists(st.integers(1, 254), min_size=least, max_size=most, unique=True)
    return last.map(lambda found: [IPv4Address(f"10.20.{third}.{each}") for each in found])


@cache
def offered(platform: str, nodes: int, users: int) -> list[str]:
    found = [IPv4Address(f"10.20.1.{each}") for each in range(1, nodes + 1)]
    return fitting(with_defaults({"platform": platform, "nodes": found, "users": users}), [], today=TODAY)


@st.composite
def answers(draw: st.DrawFn) -> NewSite:
    platform = draw(st.sampled_from(choices("platform")))
    nodes = draw(addresses(1, least=1, most=4))
    users = draw(st.sampled_from((1, 30, 500)))
    models = offered(platform, len(nodes), users)
    if not models:
        users, models = 1, offered(platform, len(nodes), 1)
    has_cloud = draw(st.booleans())
    country = draw(st.sampled_from(("DE", "FR", "SA", "AE", "IN", "US", "CH", "KZ")))
    return with_defaults(
        {
            "name": draw(st.from_regex(r"[a-z][a-z0-9-]{0,30}", fullmatch=True)),
            "country": country,
            "packs": parse("packs", default("packs", {"country": country})),
            "platform": platform,
            "nodes": nodes,
            "service_nodes": draw(addresses(2, least=1, most=3)),
            "users": users,
            "models": draw(st.lists(st.sampled_from(models), min_size=1, max_size=3, unique=True)),
            "ntp": draw(addresses(4, least=1, most=3)),
            "dns": draw(addresses(5, least=0, most=3)),
            "licences_by": draw(_WORDS),
            "licences_because": draw(_WORDS),
            "issuer": draw(st.sampled_from((None, "https://idp.bank.example/realms/a?b='c'#\"d\""))),
            "cloud": IPv4Address("198.51.100.7") if has_cloud else None,
            "cloud_country": country,
            "cloud_by": draw(_WORDS) if has_cloud else None,
        }
    )


@given(made=answers())
@settings(max_examples=40)
def test_every_combination_of_answers_is_valid(made: NewSite) -> None:
    if problems := problems_of(made, made.models, today=TODAY):  # models that do not fit together: asked again
        assert len(made.models) > 1, problems
        made = made.model_copy(update={"models": made.models[:1]})
    spec = check(made, path=PATH, today=TODAY).spec
    assert (spec.site.name, spec.site.jurisdiction, spec.site.placement) == (made.name, made.country, made.placement)
    assert [node.address for _, node in spec.nodes()] == [*made.nodes, *made.service_nodes]
    assert [model.catalog for model in spec.models] == made.models
    assert len(spec.perimeter.exceptions) == (1 if made.cloud else 0)
    assert (spec.host.dns.servers if spec.host.dns else []) == made.dns
    approvals = {model.licence_approved_by for model in spec.models if model.licence_approved_by}
    assert approvals <= {made.licences_by}


def test_the_defaults_alone_are_valid(tmp_path: Path) -> None:
    made = with_defaults({})
    (tmp_path / "site.yaml").write_text(site_text(made, today=TODAY))
    assert load(tmp_path / "site.yaml", today=TODAY).spec.site.name == "my-site"


def test_an_approval_has_no_default() -> None:
    assert [field for field in BY_FIELD if field.endswith(("_by", "_because")) and default(field, {})] == []
    made = with_defaults({"models": ["llama-3.3-70b"]})
    with pytest.raises(SpecError) as error:
        check(made, path=PATH, today=TODAY)
    assert "licence_approved_by" in str(error.value.problems[0])
    made = with_defaults({"cloud": IPv4Address("198.51.100.7")})
    with pytest.raises(SpecError) as error:
        check(made, path=PATH, today=TODAY)
    assert "approved_by" in str(error.value.problems[0])


@pytest.mark.parametrize(
    ("field", "text", "message"),
    [
        ("country", "Germany", "country: string should match pattern"),
        ("nodes", "10.0.0.1,dgx-1", "nodes: input is not a valid ipv4 address"),
        ("nodes", " , ", "nodes: expected a value, got none"),
        ("users", "many", "users: input should be a valid integer"),
        ("platform", "dgx-h10", "platform: unknown value 'dgx-h10'"),
        ("models", "qwen3-8b,sovctl-echo", "models: unknown value 'sovctl-echo'"),
        ("colour", "red", "--set: unknown field 'colour'"),
        ("issuer", "http://idp", "issuer: string should match pattern"),
    ],
)
def test_a_wrong_answer_is_refused(field: str, text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        parse(field, text)
    assert str(error.value).startswith(message)


def test_an_optional_answer_can_be_empty() -> None:
    assert (parse("dns", ""), parse("cloud", " "), parse("issuer", "")) == ([], None, None)


def test_the_page_has_every_question_with_its_default() -> None:
    page = (ROOT / "docs" / "commands" / "init.md").read_text()
    for each in QUESTIONS:
        start = default(each.field, {})
        assert f"| `{each.field}` | {each.text} | {f'`{start}`' if start else ''} |" in page
