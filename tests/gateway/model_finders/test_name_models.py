"""A site's own model: the approved one and no other, in its languages, in time, or the request stays."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from name_model_givens import KAZAKH, OTHER, UNCUED, model_settings, save_pipeline

from sovctl.gateway.detect import make_detector
from sovctl.gateway.detect.models.digest import sha256_of
from sovctl.gateway.detect.models.finder import NameModelFinder
from sovctl.gateway.detect.text.view import NormalizedText
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.model_finders import ModelFinderFailed, NameModel, load_models
from sovctl.gateway.settings import DetectSettings
from sovctl.gateway.settings.detection.name_model import NameModelSettings
from sovctl.gateway.tokens.token import TokenIssuer
from sovctl.support.errors import InputError


@pytest.fixture(name="pipeline", scope="module")
def pipeline_fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_pipeline(tmp_path_factory.mktemp("model") / "kk", UNCUED, OTHER)


def detect(*models: dict[str, Any]) -> DetectSettings:
    return DetectSettings.model_validate({"models": list(models)})


def blocking(release: threading.Event, **changes: Any) -> NameModel:
    """A model that reads until it is told to stop."""

    def read(_text: str, _until_s: float) -> Iterator[tuple[int, int, str, float]]:
        release.wait(30)
        yield 0, 4, "PER", 0.9

    settings = {"name": "slow", "kind": "spacy", "path": "/x", "sha256": "0" * 64}
    checked = NameModelSettings.model_validate(settings | {"labels": {"PER": "PERSON"}, "languages": ["kk"]} | changes)
    return NameModel(checked, NameModelFinder(read, labels=checked.labels, rule=checked.rule))


def test_names_are_found_in_disguise_and_led_back_to_the_text(pipeline: Path) -> None:
    model, *_ = load_models(detect(model_settings(pipeline)))
    assert not make_detector(DetectSettings()).find(KAZAKH)
    hidden = KAZAKH.replace("Тәжібала", "Тә\u200bжібала")
    found = asyncio.run(model.find([KAZAKH, hidden, "ештеңе жоқ"]))
    assert [KAZAKH[f.start : f.end] for f in found[KAZAKH]] == [UNCUED]
    assert [hidden[f.start : f.end] for f in found[hidden]] == ["Тә\u200bжібала Қоңырбай"]
    assert list(found) == [KAZAKH, hidden]
    assert {(f.entity_type, f.rule) for each in found.values() for f in each} == {(EntityType.PERSON, "MODEL_KK_NAMES")}


def test_the_digest_of_a_folder_is_what_its_documentation_says(pipeline: Path) -> None:
    command = "find . -type f -printf '%P\\n' | LC_ALL=C sort | xargs -d '\\n' sha256sum | sha256sum"
    said = subprocess.run(["bash", "-c", command], cwd=pipeline, capture_output=True, text=True, check=True)
    assert sha256_of(pipeline) == said.stdout.split()[0]


def test_a_changed_added_or_removed_file_is_another_model(tmp_path: Path) -> None:
    folder = save_pipeline(tmp_path / "kk", UNCUED)
    settings = detect(model_settings(folder))
    assert load_models(settings)
    for change in ("add", "remove"):
        extra = folder / "more"
        extra.write_text("x") if change == "add" else (folder / "meta.json").unlink()
        with pytest.raises(InputError, match=f"expected SHA-256 {settings.models[0].sha256}"):
            load_models(settings)
        extra.unlink(missing_ok=True)


def test_a_link_in_a_folder_is_refused(tmp_path: Path) -> None:
    folder = save_pipeline(tmp_path / "kk", UNCUED)
    settings = detect(model_settings(folder))
    (folder / "link").symlink_to("/etc/hostname")
    with pytest.raises(InputError, match="got a link or a device"):
        load_models(settings)


def test_what_is_absent_no_pipeline_or_lacks_a_label_is_refused(tmp_path: Path, pipeline: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load_models(detect(model_settings(pipeline) | {"path": str(tmp_path / "nowhere")}))
    (tmp_path / "no-model").mkdir()
    (tmp_path / "no-model/config.cfg").write_text("[nlp]\nlang = 5\n")
    with pytest.raises(InputError, match=r"expected a pipeline that spaCy 3\.\S+ loads"):
        load_models(detect(model_settings(tmp_path / "no-model")))
    with pytest.raises(InputError, match=r"expected labels of the model \(PER\), got PERS") as caught:
        load_models(detect(model_settings(pipeline, labels={"PERS": "PERSON"})))
    assert caught.value.where == "detect.models[0].labels"


def test_a_model_that_takes_too_long_or_has_too_many_waiting_fails() -> None:
    async def ask() -> list[str]:
        release = threading.Event()
        model = blocking(release, timeout_s=0.05, max_queue=2)
        causes = []
        try:
            for _ in range(3):
                with pytest.raises(ModelFinderFailed) as caught:
                    await model.find(["Аты"])
                causes.append(str(caught.value))
        finally:
            release.set()
        return causes

    # The first is still being read when it is given up; the second had not begun, so its place is free again.
    assert asyncio.run(ask()) == ["timeout", "timeout", "timeout"]

    async def crowd() -> list[BaseException | Any]:
        release = threading.Event()
        model = blocking(release, timeout_s=20, max_queue=2)
        waiting = [asyncio.create_task(model.find(["Аты-жөні"])) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(ModelFinderFailed, match="busy"):
            await model.find(["Аты"])
        release.set()
        return list(await asyncio.gather(*waiting))

    assert all(len(found["Аты-жөні"]) == 1 for found in asyncio.run(crowd()))


def test_the_event_loop_goes_on_while_a_model_reads() -> None:
    async def both() -> int:
        release = threading.Event()
        job = asyncio.create_task(blocking(release).find(["Аты-жөні"]))
        turns = 0
        while turns < 100:
            await asyncio.sleep(0)
            turns += 1
        assert not job.done()
        release.set()
        return len(await job)

    assert asyncio.run(both()) == 1


def test_an_error_of_the_model_is_told_by_its_type_alone(pipeline: Path) -> None:
    model, *_ = load_models(detect(model_settings(pipeline)))
    long = UNCUED * 100_000  # spaCy reads a million characters at most
    with pytest.raises(ModelFinderFailed) as caught:
        asyncio.run(model.find([long]))
    assert str(caught.value) == "ValueError"


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, MemoryError, StopIteration])
def test_a_model_that_would_end_the_process_only_fails(error: type[BaseException]) -> None:
    def read(text: str, _until_s: float) -> list[Any]:
        raise error(text)

    settings = {"name": "bad", "kind": "spacy", "path": "/x", "sha256": "0" * 64, "languages": ["kk"]}
    checked = NameModelSettings.model_validate(settings | {"labels": {"PER": "PERSON"}})
    model = NameModel(checked, NameModelFinder(read, labels=checked.labels, rule=checked.rule))
    with pytest.raises(ModelFinderFailed) as caught:
        asyncio.run(model.find([UNCUED]))
    assert UNCUED not in str(caught.value)


@given(
    st.text(max_size=40),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.sampled_from(["PER", "LOC"])), max_size=5),
)
def test_whatever_a_model_says_findings_are_words_of_the_text(text: str, said: list[tuple[int, int, str]]) -> None:
    inside = [(min(s, len(text)), min(e, len(text)), label, 0.5) for s, e, label in said]
    finder = NameModelFinder(lambda _text, _until_s: inside, labels={"PER": EntityType.PERSON}, rule="MODEL_X")
    for finding in finder.find(NormalizedText(text), []):
        assert 0 <= finding.start < finding.end <= len(text)
        assert text[finding.start].isalnum()
        assert text[finding.end - 1].isalnum()
        assert finding.entity_type is EntityType.PERSON


def test_our_own_tokens_are_nobodys_name_and_hide_none_beside_them() -> None:
    token = TokenIssuer(bytes(32), tenant="t", conversation="c").token(EntityType.PERSON, "тәжібала", "Тәжібала")
    finder = NameModelFinder(
        lambda text, _until_s: [(0, len(text), "PER", 0.9)], labels={"PER": EntityType.PERSON}, rule="MODEL_X"
    )
    for text, found in (
        (token, []),
        (f"{token}ны", []),
        (f"{token}'s", []),
        ("Тәжібала", ["Тәжібала"]),
        (f"{token} Қоңырбай", ["Қоңырбай"]),
        (f"Ерлан {token}-Қоңырбай, {token}.", ["Ерлан", "Қоңырбай"]),
        (f"Ерлан {token}'s {token}", ["Ерлан"]),
    ):
        assert [text[each.start : each.end] for each in finder.find(NormalizedText(text), [])] == found


def test_a_model_whose_package_is_missing_says_which(tmp_path: Path) -> None:
    if importlib.util.find_spec("stanza"):
        pytest.skip("stanza is installed")
    with pytest.raises(
        InputError, match="expected the packages stanza and torch for this model, got no stanza"
    ) as caught:
        load_models(detect(model_settings(tmp_path, kind="stanza")))
    assert "detect.model_packages" in caught.value.hint


def test_packages_of_the_site_come_after_the_gateways_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "yaml").mkdir()
    (tmp_path / "only_the_site_has_this.py").write_text("")
    packages = DetectSettings.model_validate({"model_packages": str(tmp_path)})
    load_models(packages)
    load_models(packages)
    assert sys.path.count(str(tmp_path)) == 1
    found = importlib.util.find_spec("only_the_site_has_this")
    assert found is not None
    assert found.origin == str(tmp_path / "only_the_site_has_this.py")
    own = importlib.util.find_spec("yaml")
    assert own is not None
    assert own.origin is not None
    assert not own.origin.startswith(str(tmp_path))
    tmp_path.chmod(0o770)
    with pytest.raises(InputError, match="expected a folder that root alone may write, got mode 0770") as caught:
        load_models(packages)
    assert caught.value.where == "detect.model_packages"
    with pytest.raises(InputError, match="expected a folder with Python packages"):
        load_models(DetectSettings.model_validate({"model_packages": str(tmp_path / "nowhere")}))


def test_a_score_is_not_asked_of_what_gives_none(pipeline: Path) -> None:
    for kind in ("spacy", "stanza"):
        with pytest.raises(ValueError, match=f"expected none for a {kind} model, which gives no scores"):
            detect(model_settings(pipeline, kind=kind, min_score=0.5))
