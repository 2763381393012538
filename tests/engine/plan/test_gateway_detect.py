"""What the gateway looks for, from site.yaml to the gateway: the same words at both ends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import yaml
from strategies import EXAMPLES, TODAY, context

from sovctl.engine.catalog import load_catalog
from sovctl.engine.plan.build import context_of
from sovctl.engine.resources.credential import credentials_on
from sovctl.engine.resources.gateway.service import configuration
from sovctl.engine.spec.gateway.detect import (
    Detect,
    ExactDataMatch,
    LlmReview,
    NameModel,
    Recognizer,
    RecognizerContext,
    Screen,
)
from sovctl.engine.spec.gateway.policy import LISTED_LANGUAGES
from sovctl.engine.validation.load import parse
from sovctl.engine.validation.presets import FOLDER
from sovctl.gateway.settings import DetectSettings, load_settings
from sovctl.gateway.settings.detection.exact_data_match import ExactDataMatchSettings
from sovctl.gateway.settings.detection.llm_review import LlmReviewSettings
from sovctl.gateway.settings.detection.name_languages import LISTED_LANGUAGES as GATEWAYS_LISTED_LANGUAGES
from sovctl.gateway.settings.detection.name_model import NameModelSettings
from sovctl.gateway.settings.detection.recognizer import RecognizerContext as RecognizerContextSettings
from sovctl.gateway.settings.detection.recognizer import RecognizerSettings
from sovctl.gateway.settings.detection.screen import ScreenSettings

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/spec/detect.yaml").read_text())


def test_the_gateway_reads_what_site_yaml_says(tmp_path: Path) -> None:
    text = (FOLDER / "lab.yaml").read_text()
    for old, new in CASES["all of it at once, and well"]["replace"]:
        text = text.replace(old, new)
    spec = parse(text.encode(), path=Path("site.yaml"), today=TODAY, catalog=load_catalog()).spec
    path = tmp_path / "gateway.yaml"
    path.write_text(yaml.safe_dump(configuration(context_of(spec, EXAMPLES / "lab")), sort_keys=False))
    read = load_settings(path).detect
    assert read.phone_regions == ["KZ", "DE"]
    [screen] = read.screens
    assert (screen.name, screen.labels, screen.routes) == ("injection", {"INJECTION": 0.9}, {"assistant": "block"})
    assert screen.texts == ["tool", "document"]
    [recognizer] = read.recognizers
    assert (recognizer.name, recognizer.patterns, recognizer.checksum) == ("CUSTOMER_NUMBER", ["K-[0-9]{6,8}"], "luhn")
    assert recognizer.context is not None
    assert (recognizer.context.words, recognizer.context.side) == (["Kundennummer", "клиент"], "before")
    model, gliner, stanza = read.models
    assert (str(model.path), model.languages, model.max_queue) == ("/var/lib/models/kk-names", ["kk"], 4)
    assert (gliner.kind, gliner.labels, gliner.min_score) == ("gliner", {"name of a person": "PERSON"}, 0.4)
    assert (stanza.kind, str(read.model_packages)) == ("stanza", "/var/lib/models/packages")
    assert read.llm_review is not None
    assert (read.llm_review.upstream, read.llm_review.when, read.llm_review.timeout_s) == ("chat", "always", 5)
    assert read.exact_data_match is not None
    site = context_of(spec, EXAMPLES / "lab")
    [gateway] = [node for _, node in site.spec.nodes() if site.is_gateway(node)]
    laid = {each.path: each.mode for each in credentials_on(site, gateway)}
    assert len(read.recognizer_files) == 2
    assert [laid[str(path)] for path in read.recognizer_files] == ["0600", "0600"]
    assert [laid[str(path)] for path in (read.exact_data_match.index_file, read.exact_data_match.key_file)] == [
        "0600",
        "0600",
    ]


def test_a_pool_that_only_looks_is_an_upstream_too() -> None:
    made = context("bank-hybrid")
    assert made.spec.gateway is not None
    routes = [route for route in made.spec.gateway.routes if route.pool != "triage"]
    detect = Detect(llm_review=LlmReview(upstream="triage"))
    gateway = made.spec.gateway.model_copy(update={"routes": routes, "detect": detect})
    site = replace(made, spec=made.spec.model_copy(update={"gateway": gateway}))
    assert "triage" in [each["name"] for each in configuration(site)["upstreams"]]


def test_both_ends_have_the_same_words_and_defaults() -> None:
    ends = (
        *((NameModel, NameModelSettings), (LlmReview, LlmReviewSettings), (ExactDataMatch, ExactDataMatchSettings)),
        *((Recognizer, RecognizerSettings), (RecognizerContext, RecognizerContextSettings)),
        (Screen, ScreenSettings),
    )
    for spec, settings in ends:
        assert [*spec.model_fields] == [*settings.model_fields]
        for name, field in spec.model_fields.items():
            assert field.default == settings.model_fields[name].default, name
    assert LISTED_LANGUAGES == GATEWAYS_LISTED_LANGUAGES
    assert Detect().phone_regions == DetectSettings().phone_regions
