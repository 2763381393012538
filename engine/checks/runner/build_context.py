"""Builds the input of `Check.expect` from an opened site."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

from sovctl.support.bounded_files import read_bounded
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError

from ...certificate_authority import Authority
from ...evaluation.questions import MAX_BYTES
from ...evaluation.records import evaluations_of
from ...fabric.cabling import PlannedLink
from ...site import counter_records, golden_tokens
from ...site.site import Site
from ...validation.cabling_file import read_plan
from ..model.check_context import CONTROLLER, CheckContext, Controller, PoolEvaluations


def build_context(site: Site, *, today: date) -> CheckContext:
    """Return the specification, the controller's paths and the date.

    Raises:
        SpecError, InputError: pools cannot be placed, a node is named `site`, or a file of the specification or state
            is absent or damaged.
    """
    if any(node.name == CONTROLLER for _, node in site.spec.nodes()):
        raise InputError(
            f"expected nodes with other names than {CONTROLLER!r}, got one",
            hint="in evidence this name is the controller",
        )
    return CheckContext(
        context=site.context(),
        controller=_controller(site),
        today=today,
        cabling=_cabling(site),
        readings=counter_records.load(site.state.counters),
        golden=golden_tokens.load_all(site.state.root, [pool.name for pool in site.spec.pools]),
        evaluations=_evaluations(site),
    )


def _evaluations(site: Site) -> dict[str, PoolEvaluations]:
    found = {}
    for pool in site.spec.pools:
        if pool.evaluation is not None:
            try:
                sha256 = sha256_hex(read_bounded(site.folder / pool.evaluation.questions_file, MAX_BYTES))
            except (OSError, ValueError):
                sha256 = None
            found[pool.name] = PoolEvaluations(sha256, tuple(evaluations_of(site.state.root, pool.name)))
    return found


def _cabling(site: Site) -> tuple[PlannedLink, ...]:
    fabric = site.spec.fabric
    if fabric is None or fabric.cabling_file is None:
        return ()
    return read_plan(site.folder / fabric.cabling_file)


def _controller(site: Site) -> Controller:
    spec, state = site.spec, site.state
    references = [spec.access.key_file]
    if spec.gateway is not None:
        secrets = [each.api_key for each in spec.gateway.clients] + [each.api_key for each in spec.gateway.clouds]
        secrets += [each.credentials for each in spec.gateway.clouds]
        secrets += [each.proxy.password for each in spec.gateway.clouds if each.proxy is not None]
        references += [each.file for each in secrets if each is not None and each.file]
    return Controller(
        program=str(Path(sys.executable).with_name("sovctl")),
        site_file=str(site.loaded.path.resolve()),
        state=str(state.root.resolve()),
        ledger=str(state.ledger.resolve()),
        private_files=tuple(str((site.folder / each).resolve()) for each in dict.fromkeys(references)),
        private_patterns=((str(state.keys.resolve()), "*"), (str(state.pki.resolve()), "*.key")),
        root_certificate=str(Authority(state.pki, spec.site.name).certificate_file.resolve()),
    )
