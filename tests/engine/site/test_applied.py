"""A rollback uses the newest applied description that differs from site.yaml, unchanged and with the same locks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from example_sites import example

from sovctl.engine.site.applied import Applied, check_locks, keep, locks_of, of_plan, previous
from sovctl.engine.site.site import Site
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError, PlanStale


def kept(folder: Path, run: str, spec: str, text: str = "version: 1\n") -> Applied:
    applied = Applied(run, sha256_hex(text), spec, "p" * 64, "0.1.0", {"engine": "aa"})
    keep(folder, applied, text.encode())
    return applied


def test_after_a_complete_apply_the_description_before_it_is_next(tmp_path: Path) -> None:
    kept(tmp_path, "20261121T090000.000Z-aa", "old", "version: 1 # old\n")
    kept(tmp_path, "20261121T100000.000Z-bb", "new")
    found, data = previous(tmp_path, current_spec_sha256="new")
    assert (found.spec_sha256, data) == ("old", b"version: 1 # old\n")


def test_after_a_failed_apply_the_last_complete_one_is_next(tmp_path: Path) -> None:
    kept(tmp_path, "20261121T090000.000Z-aa", "older")
    kept(tmp_path, "20261121T100000.000Z-bb", "old")
    assert previous(tmp_path, current_spec_sha256="new")[0].spec_sha256 == "old"


def test_without_an_earlier_description_there_is_no_rollback(tmp_path: Path) -> None:
    kept(tmp_path, "20261121T090000.000Z-aa", "new")
    with pytest.raises(InputError, match="no earlier site description was applied completely"):
        previous(tmp_path, current_spec_sha256="new")
    with pytest.raises(InputError, match="the saved plan does not belong to a rollback"):
        of_plan(tmp_path, spec_sha256="old")


@pytest.mark.parametrize("content", ["", "version: 2\n", None])
def test_a_changed_or_removed_description_is_refused(tmp_path: Path, content: str | None) -> None:
    kept(tmp_path, "20261121T090000.000Z-aa", "old")
    file = tmp_path / "20261121T090000.000Z-aa.yaml"
    file.unlink() if content is None else file.write_text(content)
    with pytest.raises(InputError, match="was changed or removed"):
        previous(tmp_path, current_spec_sha256="new")


def test_a_description_with_other_locks_names_the_version_that_has_them(tmp_path: Path) -> None:
    context = example("bank-hybrid", tmp_path / "bank").context()
    applied = replace(kept(tmp_path, "r", "old"), locks=locks_of(context))
    check_locks(applied, context)
    with pytest.raises(PlanStale, match=r"expected the locks of sovctl 0\.1\.0, got others: driver"):
        check_locks(replace(applied, locks={**applied.locks, "driver": "nvidia-570"}), context)


def test_an_earlier_description_uses_the_files_next_to_site_yaml(tmp_path: Path) -> None:
    site = example("bank-hybrid", tmp_path / "bank")
    earlier = site.loaded.data
    site.loaded.path.write_bytes(earlier.replace(b"replicas: 2", b"replicas: 1", 1))
    now = Site.open(site.loaded.path, touches_nodes=False)
    before = Site.open(site.loaded.path, touches_nodes=False, data=earlier)
    assert now.loaded.spec_sha256 != before.loaded.spec_sha256 == site.loaded.spec_sha256
    assert before.folder == now.folder
    assert before.context().replicas == site.context().replicas
