"""Reading a site.yaml from the disk: digests, places, the files it names, and no text that gets past as a traceback."""

from __future__ import annotations

import copy
import json
import os
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from cpu_time import least_cpu_s
from hypothesis import given, settings
from hypothesis import strategies as st

from sovctl.engine.catalog import load_catalog
from sovctl.engine.spec import SiteSpec
from sovctl.engine.validation.load import MAX_PROBLEMS, LoadedSpec, check_files, load, parse
from sovctl.engine.validation.presets import FOLDER, names
from sovctl.engine.validation.problems import path_of
from sovctl.engine.validation.rules import RULES
from sovctl.support.errors import InputError, Problem, SpecError

TODAY = date(2026, 11, 21)
LAB = (FOLDER / "lab.yaml").read_text()
TREES = {name: yaml.safe_load((FOLDER / f"{name}.yaml").read_text()) for name in names()}
for _tree in TREES.values():  # PyYAML reads days as dates
    for _each in _tree["perimeter"].get("exceptions", []):
        _each["expires"] = str(_each["expires"])

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**18), 10**18),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=12),
    st.sampled_from(
        ["chat", "n1", "gpu", "echo", "10.77.0.11", "https://10.88.0.2:443/v1", "vllm", "dgx-a100", "*", ""]
    ),
)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
)


def _parse(text: str) -> LoadedSpec:
    return parse(text.encode(), path=Path("site.yaml"), today=TODAY, catalog=load_catalog())


def _outcome(text: str) -> tuple[LoadedSpec | None, list[Problem]]:
    try:
        return _parse(text), []
    except SpecError as error:
        return None, error.problems


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in _places(item, (*path, key)))]


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, Any]:
    """A preset with one to three places replaced, removed or doubled."""
    name = draw(st.sampled_from(names()))
    tree = copy.deepcopy(TREES[name])
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from([each for each in _places(tree) if each]))
        holder = tree
        for key in place[:-1]:
            holder = holder[key]
        deed = draw(st.sampled_from(["replace", "remove", "double"]))
        if deed == "replace":
            holder[place[-1]] = draw(trees)
        elif deed == "remove":
            del holder[place[-1]]
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[place[-1]]))
        else:
            holder[draw(st.text(min_size=1, max_size=8))] = draw(trees)
    return name, tree


@settings(deadline=None)
@given(damaged())
def test_any_damage_gives_problems_or_a_site_and_nothing_else(case: tuple[str, Any]) -> None:
    loaded, problems = _outcome(json.dumps(case[1]))  # JSON is YAML
    if loaded is not None:
        assert SiteSpec.model_validate(loaded.spec.model_dump()) == loaded.spec
        return
    assert problems
    for problem in problems:
        assert problem.where.startswith("site.yaml")
        known = (
            "expected |unknown key |duplicate key|invisible characters|not supported|invalid YAML|more problem|renamed"
        )
        assert re.search(known, problem.message), problem.message
        assert problem.hint


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_gives_problems_or_a_site_and_nothing_else(text: str) -> None:
    with pytest.raises(SpecError):
        parse(text.encode("utf-8", "surrogatepass"), path=Path("s"), today=TODAY, catalog=load_catalog())


@settings(deadline=None)
@given(
    st.text(alphabet="abcdefghijkmnpqrstuvwxyz23456789", min_size=12, max_size=60),
    st.sampled_from(["{}", "{{value: {}}}", "[{}]", "{{file: {{a: {}}}}}", "{{env: {}}}", "{{env: [{}]}}"]),
)
def test_a_secret_is_never_repeated_whatever_form_it_is_given_in(secret: str, form: str) -> None:
    text = LAB.replace("api_key: {file: secrets/client-key}", "api_key: " + form.format(secret))
    with pytest.raises(SpecError) as caught:
        _parse(text)
    assert secret not in "".join(f"{each} {each.hint}" for each in caught.value.problems)


@pytest.mark.parametrize("section", sorted(SiteSpec.model_fields))
@pytest.mark.parametrize("name", names())
def test_rules_read_only_the_sections_they_say(name: str, section: str) -> None:
    tree = copy.deepcopy(TREES[name]) | {section: {"": 0} if section != "version" else "x"}
    with pytest.raises(SpecError) as caught:  # a rule that reads a broken section unasked ends in AttributeError
        _parse(json.dumps(tree))
    assert {each.where.split(": ")[1].split(".")[0].split("[")[0] for each in caught.value.problems} == {section}


@pytest.mark.parametrize("section", ["node_groups", "models", "pools", "workload"])
@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("broken", [{"": 0}, 7, None, {"name": "assistant", "pool": "code", "users": "many"}])
def test_an_item_that_is_not_well_formed_is_all_that_is_said(name: str, section: str, broken: object) -> None:
    for index in range(len(TREES[name].get(section, []))):
        tree = copy.deepcopy(TREES[name])
        tree[section][index] = broken
        with pytest.raises(SpecError) as caught:
            _parse(json.dumps(tree))
        assert all(f": {section}[{index}]" in each.where for each in caught.value.problems)


def test_compute_ports_are_of_one_network() -> None:
    with pytest.raises(SpecError) as caught:
        _parse(json.dumps(TREES["lab"] | {"roce": {}}))
    (problem,) = caught.value.problems
    assert "InfiniBand with `fabric`" in problem.message


def _leaves(name: str) -> list[tuple[Any, ...]]:
    """Single values of the parts that are mended, and lists of values."""
    parts = ("node_groups", "models", "pools", "workload", "sizing")
    found = [path for path in _places(TREES[name]) if path]
    return [path for path in found if path[0] in parts and not isinstance(_at(name, path), dict)]


def _at(name: str, path: tuple[Any, ...]) -> Any:
    value = TREES[name]
    for step in path:
        value = value[step]
    return value


@pytest.mark.parametrize("name", ["bank-hybrid", "closed-perimeter"])
def test_a_stand_in_for_a_wrong_value_is_no_fault_of_its_own(name: str) -> None:
    for path in _leaves(name):
        tree = copy.deepcopy(TREES[name])
        inner = tree
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = {"": 0}
        with pytest.raises(SpecError) as caught:
            _parse(json.dumps(tree))
        said = {each.where.partition(": ")[2] for each in caught.value.problems}
        assert all(where.startswith(path_of(path)) for where in said), (path, said)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    """What the issue of sizing names, and wrong names, in one file: nothing waits for something else to be mended."""
    tree = copy.deepcopy(TREES["bank-hybrid"])
    models, pools, asked, sizing = (tree[part] for part in ("models", "pools", "workload", "sizing"))
    models[0]["catalog"] = "llama-3.3-7b"
    models[1]["licence_approved_by"] = "x"
    pools[0] |= {"gpus": "all", "nodes": ["dgx-9"]}
    pools[1] |= {"kv_cache_memory_bytes": "80GiB", "tensor_parallel_size": 3}
    pools[2] |= {"gpu_memory_utilization": 92, "max_model_len": 1_000_000}
    asked[0] |= {"users": 0, "pool": "asistant"}
    asked[1] |= {"ttft_p95_ms": "1500 ms", "think_time_s": 5, "itl_p95_ms": float("nan")}
    sizing["racks"] |= {"rack_kw": "20kW", "node_kw": {"dgxx": 3}}
    sizing["costs"] |= {"network": -5, "nodes": {"l40": 1}}
    sizing["tokens_per_step"] = {"codes": 2, "assistant": 0}
    with pytest.raises(SpecError) as caught:
        _parse(yaml.safe_dump(tree))
    assert {each.where.partition(": ")[2] for each in caught.value.problems} == {
        "models[0].catalog",
        "models[1].licence_approved_by",
        "pools[0].gpus",
        "pools[0].nodes[0]",
        "pools[1].kv_cache_memory_bytes",
        "pools[1].tensor_parallel_size",
        "pools[2].gpu_memory_utilization",
        "pools[2].max_model_len",
        "workload[0].users",
        "workload[0].pool",
        "workload[1].ttft_p95_ms",
        "workload[1].think_time_s",
        "workload[1].itl_p95_ms",
        "sizing.racks.rack_kw",
        "sizing.racks.node_kw.dgxx",
        "sizing.costs.network",
        "sizing.costs.nodes.l40",
        "sizing.tokens_per_step.codes",
        "sizing.tokens_per_step.assistant",
    }


def test_every_rule_reads_known_sections_and_says_what_it_is() -> None:
    assert len({rule.sentence for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert set(rule.reads) <= set(SiteSpec.model_fields)


def test_spec_digest_holds_for_comments_and_order_and_changes_with_a_value() -> None:
    first = _parse(LAB)
    shuffled = _parse("# other\n" + json.dumps(dict(reversed(TREES["lab"].items()))))
    assert first.spec_sha256 == shuffled.spec_sha256
    assert first.text_sha256 != shuffled.text_sha256
    assert _parse(LAB.replace("max_num_seqs: 8", "max_num_seqs: 9")).spec_sha256 != first.spec_sha256


def test_places_are_found_by_name_as_they_stand_in_the_file() -> None:
    loaded = _parse(LAB)
    line = next(number for number, text in enumerate(LAB.splitlines(), 1) if "port: 8000" in text)
    assert loaded.where("pools[chat].port") == f"site.yaml:{line}: pools[0].port"


def test_many_problems_are_cut_and_counted() -> None:
    extra = "".join(f"  wrong{number}: 1\n" for number in range(300))
    with pytest.raises(SpecError) as caught:
        _parse(LAB.replace("site:\n", f"site:\n{extra}"))
    assert len(caught.value.problems) == MAX_PROBLEMS + 1
    assert "200 more problems" in caught.value.problems[-1].message


def test_says_what_stands_in_place_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load(tmp_path / "site.yaml")
    with pytest.raises(InputError, match="got a folder"):
        load(tmp_path)
    with pytest.raises(InputError, match="can be read"):
        load(tmp_path / ("x" * 300))


def test_a_site_is_read_in_well_under_a_third_of_a_second() -> None:
    path = FOLDER / "superpod-b200.yaml"
    assert least_cpu_s(lambda: load(path)) < 0.1


@pytest.fixture
def whole_site(tmp_path: Path) -> Path:
    """A lab site with every file it names."""
    (tmp_path / "site.yaml").write_text(LAB)
    for name in ("access/id_ed25519", "access/known_hosts", "access/apt-key.asc", "access/cloud-ca.pem", "cabling.csv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("specimen\n")
    (tmp_path / "access" / "id_ed25519").chmod(0o600)
    (tmp_path / "secrets").mkdir()
    for name in ("cloud-key", "client-key"):
        (tmp_path / "secrets" / name).write_text("specimen\n")
        (tmp_path / "secrets" / name).chmod(0o600)
    return tmp_path


def _file_problems(folder: Path, environ: dict[str, str] | None = None) -> list[str]:
    try:
        check_files(load(folder / "site.yaml", today=TODAY), environ=environ or {})
    except SpecError as error:
        return [f"{each.where.split(': ', 1)[1]}: {each.message}" for each in error.problems]
    return []


def test_planning_needs_no_file_but_touching_nodes_does(whole_site: Path) -> None:
    assert _file_problems(whole_site) == []
    (whole_site / "access" / "known_hosts").unlink()
    load(whole_site / "site.yaml", today=TODAY)
    assert _file_problems(whole_site) == ["access.known_hosts_file: expected a file, got: no such file or directory"]


def test_secret_files_are_closed_to_others(whole_site: Path) -> None:
    (whole_site / "access" / "id_ed25519").chmod(0o640)
    (whole_site / "secrets" / "client-key").chmod(0o604)
    assert _file_problems(whole_site) == [
        "access.key_file: secret file is readable by others, expected mode 600, got mode 640",
        "gateway.clients[0].api_key.file: secret file is readable by others, expected mode 600, got mode 604",
    ]


RECOGNIZERS = """\
  detect:
    recognizers:
      - {name: CASE_NUMBER, patterns: ["C-[0-9]{6}"], examples: {match: [C-123456]}}
    recognizer_files: [good.yaml, bad.yaml, odd.yaml, absent.yaml]
  policy:
"""


def test_all_problems_of_recognizer_files_are_reported(whole_site: Path) -> None:
    (whole_site / "site.yaml").write_text(LAB.replace("  policy:\n", RECOGNIZERS, 1))
    good = "recognizers:\n- {name: FILE_NUMBER, patterns: ['F-[0-9]{6}'], examples: {match: [F-123456]}}\n"
    (whole_site / "good.yaml").write_text(good)
    again = good + "- {name: CASE_NUMBER, patterns: ['C-[0-9]{6}'], examples: {match: [C-123456]}}\n"
    (whole_site / "bad.yaml").write_text(again)
    odd = "recognizers:\n- name: case\n  pattern: ['C-[0-9]{6}']\n  checksum: crc\n  examples: {match: []}\n"
    (whole_site / "odd.yaml").write_text(odd)
    with pytest.raises(SpecError) as caught:
        check_files(load(whole_site / "site.yaml", today=TODAY), environ={})
    found = [str(each).removeprefix(f"{whole_site}/") for each in caught.value.problems]
    places = [each.split(": ")[:2] for each in found]
    assert places == [
        ["site.yaml:" + places[0][0].partition(":")[2], "gateway.detect.recognizer_files[3]"],
        ["bad.yaml:2", "recognizers[0].name"],
        ["bad.yaml:3", "recognizers[1].name"],
        ["odd.yaml:2", "recognizers[0].name"],
        ["odd.yaml:2", "recognizers[0].patterns"],
        ["odd.yaml:4", "recognizers[0].checksum"],
        ["odd.yaml:5", "recognizers[0].examples.match"],
        ["odd.yaml:3", "recognizers[0].pattern"],
    ]
    assert caught.value.problems[-1].hint == "did you mean `patterns`?"


VAULT = """\
  vault:
    postgresql: {host: 10.77.0.9, password: {file: secrets/database}}
    kek:
      - version: 2
        pkcs11: {module: /usr/lib/token.so, token_label: bank, key_label: kek, pin: {env: TOKEN_PIN}}
  clients:
"""


def test_the_vaults_secrets_are_looked_at_whatever_else_the_gateway_has(whole_site: Path) -> None:
    site = whole_site / "site.yaml"
    site.write_text(LAB.replace("  clients:\n", VAULT, 1))
    assert _file_problems(whole_site) == [
        "gateway.vault.postgresql.password.file: expected a file, got: no such file or directory",
        "gateway.vault.kek[0].pkcs11.pin.env: environment variable is unset or empty",
    ]
    (whole_site / "secrets" / "database").write_text("specimen\n")
    (whole_site / "secrets" / "database").chmod(0o644)
    [said] = _file_problems(whole_site, {"TOKEN_PIN": "1"})
    assert said.startswith("gateway.vault.postgresql.password.file: secret file is readable by others")
    (whole_site / "secrets" / "database").chmod(0o600)
    assert _file_problems(whole_site, {"TOKEN_PIN": "1"}) == []


def test_empty_files_folders_and_loops_are_no_files(whole_site: Path) -> None:
    (whole_site / "access" / "apt-key.asc").write_text("")
    (whole_site / "secrets" / "cloud-key").unlink()
    (whole_site / "secrets" / "cloud-key").mkdir()
    (whole_site / "access" / "cloud-ca.pem").unlink()
    (whole_site / "access" / "cloud-ca.pem").symlink_to("cloud-ca.pem")
    assert [each.split(": ", 1)[0] for each in _file_problems(whole_site)] == [
        "artifacts.apt_key_file",
        "gateway.clouds[0].ca_file",
        "gateway.clouds[0].api_key.file",
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\ninvented\n",
        b"-----BEGIN CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----\n",
        b"\x95\x01\x00invented",
        b"\xc5\x01invented",
    ],
)
def test_a_private_key_is_never_copied_to_nodes_as_the_mirrors_key(whole_site: Path, content: bytes) -> None:
    (whole_site / "access" / "apt-key.asc").write_bytes(content)
    [said] = _file_problems(whole_site)
    assert said.startswith("artifacts.apt_key_file: file contains a private key")
    assert "invented" not in said


def test_variables_count_only_with_a_value(whole_site: Path) -> None:
    (whole_site / "site.yaml").write_text(LAB.replace("{file: secrets/client-key}", "{env: CLIENT_KEY}"))
    wanted = ["gateway.clients[0].api_key.env: environment variable is unset or empty"]
    assert _file_problems(whole_site) == wanted
    assert _file_problems(whole_site, {"CLIENT_KEY": ""}) == wanted
    assert _file_problems(whole_site, {"CLIENT_KEY": "specimen"}) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_files_that_cannot_be_read_are_named(whole_site: Path) -> None:
    (whole_site / "access" / "known_hosts").chmod(0)
    assert _file_problems(whole_site) == [
        "access.known_hosts_file: expected a file that can be read, got one that cannot"
    ]
