"""Transmission of the system log: client certificates and counters of rsyslog."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from strategies import context

from sovctl.engine.catalog import load_catalog
from sovctl.engine.resources.context import Context, render
from sovctl.engine.resources.credential import credentials_on
from sovctl.engine.resources.host import log_forwarding
from sovctl.engine.validation.rules.host import check_logs
from sovctl.engine.validation.rules.rule import SiteUnderValidation


def site(**changes: object) -> Context:
    """Return the preset bank-hybrid with changes of `host.logs`."""
    made = context("bank-hybrid")
    logs = made.spec.host.logs
    assert logs is not None
    host = made.spec.host.model_copy(update={"logs": logs.model_copy(update=changes)})
    return replace(made, spec=made.spec.model_copy(update={"host": host}))


def configuration(made: Context) -> str:
    node = made.spec.nodes()[0][1]
    (desired,) = log_forwarding.RESOURCE_TYPE.expect(made, node, None)
    return render("log_forwarding", "rsyslog.conf.j2", **desired.variables)


def test_a_node_presents_its_certificate_if_the_site_says_so() -> None:
    with_one, without = site(client_certificate=True), site()
    assert 'DefaultNetstreamDriverCertFile="/etc/sovctl/tls/node.pem"' in configuration(with_one)
    assert "DriverCertFile" not in configuration(without)
    for _, node in with_one.spec.nodes():
        files = {each.file for each in credentials_on(with_one, node)}
        assert {"node.pem", "node.key", "ca.pem", "siem-ca.pem"} <= files


def test_the_queue_is_counted_and_sends_one_message_at_a_time() -> None:
    text = configuration(site(queue_mib=64))
    assert 'module(load="impstats"' in text
    assert log_forwarding.STATISTICS in text
    assert 'queue.dequeueBatchSize="1"' in text
    assert 'queue.maxDiskSpace="64m"' in text


def test_client_certificates_without_tls_are_refused() -> None:
    made = site(client_certificate=True, ca_file=None, server_name=None)
    (problem,) = check_logs(SiteUnderValidation(made.spec, load_catalog(), date(2026, 11, 29)))
    assert problem.where == "host.logs.client_certificate"
