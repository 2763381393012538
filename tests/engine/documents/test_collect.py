"""Values of documents from site.yaml, catalogue, facts and evidence."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from document_sources import Made, capture, loaded, record, sources
from evidence_specimens import made

from sovctl.compliance.documents.answers import Answers
from sovctl.compliance.documents.document import Document, FieldState, NotCollected, Value
from sovctl.compliance.documents.fill import Collection, fill
from sovctl.compliance.documents.templates import load_template, template_names
from sovctl.engine.checks.model.probe import CommandOutput, joined
from sovctl.engine.checks.model.result import raw_of
from sovctl.engine.checks.registry import KNOWN_CHECKS
from sovctl.engine.documents.collect import collect
from sovctl.engine.documents.licence_gate import licence_findings
from sovctl.engine.documents.node_facts import facts_of
from sovctl.engine.documents.run_evidence import run_evidence
from sovctl.engine.documents.site_values import MEASURES, Sources


def filled(name: str, collection: Collection) -> Document:
    return fill(load_template(name), collection, Answers())


def value(document: Document, field: str, subject: str = "") -> str:
    (found,) = [f for s, f in document.fields() if f.id == field and s.subject == subject]
    return found.value if found.state is FieldState.MACHINE else f"{found.state.value}: {found.reason}"


@pytest.mark.parametrize("name", template_names())
@pytest.mark.parametrize("example", ["bank-hybrid", "closed-perimeter", "lab"])
def test_every_value_that_a_template_names_is_defined(name: str, example: str) -> None:
    site = loaded(example)
    made = Sources(
        site.spec,
        site.catalog,
        run_evidence(None, spec_sha256=site.spec_sha256, read_raw=lambda _: b""),
        facts_of({node.name: "none" for _, node in site.spec.nodes()}),
        (),
        "0.1.0",
        site.text_sha256,
    )
    assert filled(name, collect(made)).site == site.spec.site.name


def test_measures_name_checks_that_exist() -> None:
    assert {check for checks in MEASURES.values() for check in checks} <= set(KNOWN_CHECKS)


def test_without_facts_and_evidence_every_value_of_a_node_is_missing() -> None:
    document = filled("residency", collect(sources()))
    found = {field.state for section, field in document.fields() if section.id == "node"}
    assert found == {FieldState.MISSING}
    places = next(section.table for section in document.sections if section.table)
    assert all(row[-1].startswith("UNKNOWN") for row in places.rows)


def test_residency_values_come_from_facts_and_evidence_with_their_source() -> None:
    raw = raw_of(
        joined(
            {
                "file": CommandOutput(0, "nameserver 10.20.0.5\n", ""),
                "resolved": CommandOutput(0, "# end\n", ""),
            }
        )
    )
    records = [
        record("network.dns-only-site-resolvers", "dgx-1", raw=raw),
        record("perimeter.no-way-out", "dgx-1", "FAIL"),
    ]
    document = filled("residency", collect(sources(records, {"dgx-1": capture("dgx-1")})))
    assert value(document, "node.names", "dgx-1") == "10.20.0.5 (PASS)"
    assert value(document, "node.attempts", "dgx-1").startswith("FAIL: ")
    assert value(document, "node.attempts", "dgx-2").startswith("MISSING: not collected: run ")
    assert 'policy drop;\noif "lo" accept' in value(document, "node.egress", "dgx-1")
    assert "hook input" not in value(document, "node.egress", "dgx-1")
    (names,) = [f for s, f in document.fields() if f.id == "node.names" and s.subject == "dgx-1"]
    assert "ledger entry 0" in names.source
    assert not document.simulated


def test_the_residency_statement_has_the_imported_bundles() -> None:
    bundle = {
        "bundle": "1-a", "sequence": 1, "state": "published", "states": ["published"],
        "created": "2026-11-01T00:00:00Z",
        "signers": ["holder-a", "holder-b"], "importer": "anna", "approver": "ben", "scanner": "ClamAV 1.4",
        "published": "2026-11-02T00:00:00Z", "files": 3,
    }  # fmt: skip
    raw = raw_of(joined({"imports": CommandOutput(0, json.dumps({"bundles": [bundle]}), "")}))
    document = filled("residency", collect(sources([record("site.imports-approved", "site", raw=raw)])))
    text = value(document, "site.imports")
    assert "bundle 1 of 2026-11-01T00:00:00Z: 3 files, signed by holder-a, holder-b; imported by anna" in text
    assert value(filled("residency", collect(sources())), "site.imports").startswith("MISSING")


def test_the_residency_statement_has_the_routes_of_all_tables() -> None:
    routes = [
        {"dst": "10.20.0.0/24", "dev": "eth0", "protocol": "kernel"},
        {"dst": "10.30.0.0/16", "gateway": "10.20.0.1", "dev": "eth0", "table": "7"},
        {"type": "local", "dst": "10.20.0.9", "dev": "eth0", "table": "local"},
    ]
    output = {"ipv4": json.dumps(routes), "ipv6": "[]", "interfaces": "[]"}
    raw = raw_of(joined({name: CommandOutput(0, text, "") for name, text in output.items()}))
    document = filled("residency", collect(sources([record("network.routes-inside-site", "dgx-1", "FAIL", raw=raw)])))
    assert value(document, "node.routes", "dgx-1").splitlines() == [
        "10.20.0.0/24 dev eth0",
        "10.30.0.0/16 via 10.20.0.1 dev eth0 table 7",
        "no default route",
        "compared with site.yaml: FAIL",
    ]


def test_container_registries_are_stated_only_without_a_container_runtime() -> None:
    bare = filled("residency", collect(sources(captures={"dgx-1": capture("dgx-1")})))
    assert value(bare, "node.containers", "dgx-1") == "no container runtime among 2 packages"
    packages = "podman\t4.3.1\tamd64\tii \nbash\t5.2\tamd64\tii \n"
    with_runtime = filled("residency", collect(sources(captures={"dgx-1": capture("dgx-1", packages=packages)})))
    assert "podman is installed" in value(with_runtime, "node.containers", "dgx-1")
    assert value(with_runtime, "node.containers", "dgx-1").startswith("MISSING")


def test_a_place_is_unknown_until_every_node_has_evidence() -> None:
    def evidence(records: Made) -> str:
        table = collect(sources(records)).tables["data-places"]
        return next(row[-1] for row in table.rows if row[0] == "system logs")

    nodes = [node.name for _, node in loaded().spec.nodes()]
    assert evidence([record("host.log-shipping", node) for node in nodes[1:]]).startswith("UNKNOWN")
    assert evidence([record("host.log-shipping", node) for node in nodes]) == f"host.log-shipping: {len(nodes)} PASS"
    one_fails = [record("host.log-shipping", node, "FAIL" if node == nodes[0] else "PASS") for node in nodes]
    assert "1 FAIL" in evidence(one_fails)


def test_evidence_of_another_site_file_counts_as_not_collected() -> None:
    document = filled("gdpr-art-30", collect(sources([made("perimeter.default-drop", "dgx-1")])))
    assert "is of another site.yaml" in value(document, "security.perimeter")


def test_measures_state_verdicts_and_checks_without_evidence() -> None:
    records = [record("perimeter.default-drop", "dgx-1"), record("perimeter.default-drop", "dgx-2", "FAIL")]
    text = value(filled("gdpr-art-30", collect(sources(records))), "security.perimeter")
    assert "perimeter.default-drop: 1 FAIL, 1 PASS" in text
    assert "perimeter.no-way-out: not run" in text


def test_simulated_facts_or_evidence_mark_every_document() -> None:
    assert filled("gdpr-dpia", collect(sources([record("gpu.count", "dgx-1", simulated=True)]))).simulated
    captures: dict[str, bytes | str] = {"dgx-1": capture("dgx-1", simulated="yes")}
    assert filled("gdpr-dpia", collect(sources(captures=captures))).simulated
    assert not filled("gdpr-dpia", collect(sources(captures={"dgx-1": capture("dgx-1")}))).simulated


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b"null", b'{"node": 1}', b"[" * 100_000])
def test_damaged_facts_are_not_collected(data: bytes) -> None:
    assert isinstance(facts_of({"n1": data})["n1"], NotCollected)


def test_facts_of_another_node_are_not_collected() -> None:
    assert isinstance(facts_of({"dgx-2": capture("dgx-1")})["dgx-2"], NotCollected)


def test_licence_gate_finds_forbidden_unapproved_and_unknown_licences() -> None:
    site = loaded()
    model = site.spec.models[0].model_copy(update={"licence_approved_by": None})
    entry = site.catalog.models["llama-3.3-70b"]

    def messages(use: str, *, approved: bool, verified: bool = True) -> list[str]:
        licence = entry.licence.model_copy(update={"commercial_use": use, "verified": verified, "eu_note": ""})
        by = {"licence_approved_by": "legal office" if approved else None}
        found = licence_findings(model.model_copy(update=by), entry.model_copy(update={"licence": licence}), "DE")
        return [f"{each.severity}: {each.message}" for each in found]

    assert messages("yes", approved=False) == []
    assert messages("conditional", approved=True) == []
    assert [each.partition(":")[0] for each in messages("conditional", approved=False)] == ["fail"]
    assert ["forbids commercial use" in each for each in messages("no", approved=True)] == [True]
    assert [each.partition(":")[0] for each in messages("yes", approved=True, verified=False)] == ["unknown"]
    assert [each.severity for each in licence_findings(model, None, "DE")] == ["unknown"]
    assert [each.severity for each in licence_findings(model, entry, "DE")] == ["fail", "unknown"]
    assert [each.severity for each in licence_findings(model, entry, "SA")] == ["fail"]


def test_model_cards_list_the_findings_of_the_gate() -> None:
    document = filled("model-cards", collect(sources()))
    assert {each.subject for each in document.findings} <= {model.name for model in loaded().spec.models}
    assert value(document, "model.gate", "llama-70b") != "no finding"


def test_register_has_rows_for_each_cloud_only() -> None:
    document = filled("dora-register", collect(sources()))
    subjects = {section.subject for section in document.sections if section.id == "contract"}
    assert subjects == {cloud.name for cloud in (loaded().spec.gateway.clouds if loaded().spec.gateway else [])}
    assert subjects
    closed = loaded("closed-perimeter")
    none = collect(replace(sources(), spec=closed.spec, facts=facts_of({n.name: "" for _, n in closed.spec.nodes()})))
    (contract,) = [each for each in filled("dora-register", none).sections if each.id == "contract"]
    assert contract.note == "site.yaml names no cloud, therefore no row follows from it"


def test_values_never_contain_secrets_of_site_yaml() -> None:
    collection = collect(sources())
    texts = [each.text for each in collection.values.values() if isinstance(each, Value)]
    assert not any("api_key" in text or "file:" in text for text in texts)
