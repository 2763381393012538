"""A node whose baseline cannot be recorded is reported, and keeps the baseline that it has."""

from __future__ import annotations

from pathlib import Path

import pytest
from example_sites import MakeSite

from bench.gathering.servers import can_serve, ssh_servers
from sovctl.engine.apply.baseline import record_baselines
from sovctl.engine.apply.progress import Progress
from sovctl.engine.resources.context import Baseline
from sovctl.engine.site import baseline_records
from sovctl.engine.site.site import Site

STORED = {"n1": Baseline("a" * 64, frozenset({("address", "192.0.2.7/32")})), "n2": Baseline("b" * 64)}


@pytest.mark.skipif(not can_serve(), reason="needs root, sshd and sudo")
def test_failed_and_unreachable_nodes_keep_their_baselines(make_site: MakeSite, tmp_path: Path) -> None:
    site = make_site("lab")
    (tmp_path / "ssh").mkdir()
    (tmp_path / "empty").mkdir()
    reported: list[Progress] = []
    # n1 has no sudo, nothing listens at the address of s1, and n2 needs no new baseline
    with ssh_servers(tmp_path / "ssh", ["127.0.0.2"], session_path=str(tmp_path / "empty")) as servers:
        files = {"key_file": str(servers.key_file), "known_hosts_file": str(servers.known_hosts_file)}
        text = (
            (site.folder / "site.yaml")
            .read_text()
            .replace("10.77.0.11", "127.0.0.2")
            .replace("10.77.0.21", "127.0.0.3")
        )
        (site.folder / "site.yaml").write_text(text)
        site = Site.open(site.folder / "site.yaml", touches_nodes=False)
        access = site.spec.access.model_copy(update={**files, "port": servers.port, "user": "root"})
        site.spec = site.spec.model_copy(update={"access": access})
        baseline_records.save(site.state.root, STORED)
        record_baselines(site, site.context(), ["n1", "n2", "s1"], report=reported.append)
    assert baseline_records.load(site.state.root) == STORED
    assert [(each.kind, each.node) for each in reported] == [("failed", "n1"), ("failed", "s1")]
    assert "sudo" in reported[0].text
