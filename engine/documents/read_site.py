"""Reads the sources of documents: evidence of a run, newest facts of each node, and names of journals of applies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sovctl.compliance.evidence.runs import EvidenceRun, list_runs, load_run, read_raw
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.support.atomic_files import read_error_reason
from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError
from sovctl.support.package_files import package_folder, package_text
from sovctl.support.strict_yaml import read_text

from ..catalog import ModelEntry
from ..catalog.engines import ENGINES
from ..catalog.models import load_models
from ..gather.captures import LIMIT_BYTES
from ..resources.software.engine_lock import engine_lock
from ..site.state_folder import SiteState
from ..spec import SiteSpec
from ..validation.load import LoadedSpec
from .lock_file import LockedPackage, parse_deb_lock, parse_lock
from .node_facts import facts_of
from .run_evidence import run_evidence
from .site_values import Sources

_LOCKS = package_folder("engine/catalog/locks")


def read_sources(loaded: LoadedSpec, state: SiteState, *, tool_version: str, run_id: str | None = None) -> Sources:
    """Return the sources of a site's documents.

    Args:
        run_id: None: the newest run, if the site has one.

    Raises:
        InputError: unknown run.
        EvidenceDamaged: the evidence differs from the ledger.
    """
    captures = {node.name: _capture(state.facts / f"{node.name}.json") for _, node in loaded.spec.nodes()}
    return Sources(
        spec=loaded.spec,
        catalog=loaded.catalog,
        evidence=run_evidence(
            _run(state, run_id),
            spec_sha256=loaded.spec_sha256,
            read_raw=lambda digest: read_raw(state.evidence, digest),
        ),
        facts=facts_of(captures),
        applies=tuple(sorted(path.stem for path in state.journal.glob("*.jsonl"))),
        tool_version=tool_version,
        text_sha256=loaded.text_sha256,
    )


def read_locks(spec: SiteSpec, models: Mapping[str, ModelEntry] | None = None) -> dict[str, tuple[LockedPackage, ...]]:
    """Return the packages of the locks that the nodes of a site use, by the name of the lock.

    Args:
        models: the catalogue of the site; None for that of this release.
    """
    engine = engine_lock(spec, load_models() if models is None else models)
    names = [*([engine] if spec.pools else []), *(["gateway"] if spec.gateway else []), "installer"]
    paths = {name: _LOCKS / f"{name}.txt" for name in names}
    parsers = {engine: parse_deb_lock} if ENGINES[spec.software.engine].packages == "deb" else {}
    return {name: parsers.get(name, parse_lock)(package_text(path), where=path.name) for name, path in paths.items()}


def read_licences() -> dict[str, str]:
    """Return the licences of wheels by `name==version`, from `engine/catalog/wheel_licences.yaml`."""
    value = read_text(package_text(package_folder("engine/catalog") / "wheel_licences.yaml").encode()).value
    return dict(value["licences"])


def _run(state: SiteState, run_id: str | None) -> EvidenceRun | None:
    runs = list_runs(state.evidence)
    if not runs and run_id is None:
        return None
    return load_run(state.evidence, run_id or runs[-1], LedgerReader(state.ledger))


def _capture(path: Path) -> bytes | str:
    try:
        return read_bounded(path, LIMIT_BYTES)
    except FileNotFoundError:
        return "no facts were captured"
    except InputError as error:
        return f"the facts are unreadable: {error.message}"
    except OSError as error:
        return f"the facts are unreadable: {read_error_reason(error)}"
