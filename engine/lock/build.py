"""Makes a lock from site.yaml, the catalogue and the inventory: every part closed, or no lock.

lock = make_lock(site.context(), inputs, inventory, options, previous=None)
write_lock(lock, Path("locks"), report(lock))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from sovctl.support.errors import InputError

from ..catalog.operating_systems import load_operating_systems
from ..resources.context import Context
from ..resources.software.model import folders
from . import own_files, programs
from .adapters import refused_adapter
from .apt import closure
from .apt.part import contains, make_part
from .apt.sources import own_sources, read_sources
from .dnf import part as dnf_part
from .dnf.sources import read_repositories
from .environments import environment_parts
from .folder import Lock
from .inventory import SiteInventory
from .licences import not_accepted
from .models import ModelFolder, behaviour, locked_model, refused_files
from .options import Options
from .part import LockedPackage, Part
from .refused import LockRefused
from .targets import NodeTarget, by_part, targets

_SUFFIXES = {"apt": ".deb", "dnf": ".rpm"}


def make_lock(
    context: Context,
    inputs: Mapping[str, str],
    inventory: SiteInventory | None,
    options: Options,
    *,
    previous: Lock | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> Lock:
    """Return the lock of a site.

    Args:
        inputs: digests of site.yaml and other files.
        previous: lock of which only `options.update` may move.

    Raises:
        InputError: an option, a file or the inventory is unusable.
        LockRefused: a part is not closed, or a licence is not accepted.
    """
    if options.check and not programs.can_isolate():
        hint = "install util-linux and permit user namespaces, or pass --no-closure-check, which the lock records"
        raise LockRefused(["the closure check needs a network namespace, which this machine refuses"], hint=hint)
    found = targets(context, inventory, system=options.system, machine=options.machine)
    own = own_files.read_own_files(options.own_files) if options.own_files else ()
    parts: list[Part] = []
    if "packages" not in options.omit:
        parts += _package_parts(found, own, options, previous, report)
    if "wheels" not in options.omit:
        report("wheels")
        parts += _kept_or(previous, "wheel", options) or environment_parts(
            context, found, options.wheels, check=options.check
        )
    if "models" not in options.omit:
        report("models")
        parts += _model_parts(context, options)
    parts += _own_part(own)
    if reasons := [
        line for part in parts if part.kind != "model" for line in not_accepted(part.packages, options.accepted)
    ]:
        hint = "a person reads the licence and names the package in --accepted-licences FILE; see docs/lock.md"
        raise LockRefused(sorted(set(reasons)), hint=hint)
    return Lock(
        site=context.spec.site.name,
        inputs=dict(inputs) | {"omitted": ", ".join(sorted(options.omit)) or "nothing", "driver_lock": context.lock.id},
        accepted=tuple(each.model_dump(mode="json") for each in options.accepted),
        parts=tuple(sorted(parts, key=lambda part: part.id)),
    )


def _package_parts(
    found: Sequence[NodeTarget],
    own: tuple[own_files.OwnFile, ...],
    options: Options,
    previous: Lock | None,
    report: Callable[[str], None],
) -> Iterator[Part]:
    groups = by_part(found)
    if options.update is not None:
        _check_update(options.update, groups, previous)
    for name, members in groups.items():
        report(f"packages of {name}")
        kept = previous.part(name) if previous and options.update else None
        if kept is not None and options.update is not None and not contains(kept, options.update):
            yield kept
            continue
        yield _package_part(members, own, options, kept)


def _package_part(
    members: Sequence[NodeTarget], own: tuple[own_files.OwnFile, ...], options: Options, kept: Part | None
) -> Part:
    system = members[0].system
    file = options.sources.get(system.id)
    if system.package_manager == "dnf":
        if file is None:
            hint = f"pass --sources {system.id}=FILE.repo"
            raise InputError(f"no package sources for {system.title}", where="--sources", hint=hint)
        return dnf_part.make_part(members, read_repositories(file), check=options.check)
    part = make_part(
        members,
        read_sources(file) if file else own_sources(system),
        own_index=own_files.index_of_debs(own, system.id),
        own_folder=options.own_files,
        kept=kept,
        update=options.update,
        may_remove=options.may_remove,
    )
    return closure.checked(part, members[0]) if options.check else part


def _check_update(name: str, groups: Mapping[str, Sequence[NodeTarget]], previous: Lock | None) -> None:
    where = "--update"
    if previous is None:
        raise InputError("no lock to update", where=where, hint="run `sovctl lock` without --update first")
    if not any(part.kind == "deb" and contains(part, name) for part in previous.parts):
        raise InputError(f"no package {name!r} in the lock", where=where, hint="see its parts in lock-report.txt")
    for part_id, members in groups.items():
        kept = previous.part(part_id)
        roots = {root for each in members for root in each.roots}
        if kept is None or roots != set(kept.roots):
            hint = "run `sovctl lock` without --update, because site.yaml or the nodes changed"
            raise LockRefused([f"the roots of {part_id} are not those of the lock"], where=where, hint=hint)


def _kept_or(previous: Lock | None, kind: str, options: Options) -> list[Part]:
    """Return the parts of a kind of the previous lock, if only one package may move."""
    return [part for part in previous.parts if part.kind == kind] if previous and options.update else []


def _model_parts(context: Context, options: Options) -> Iterator[Part]:
    found = {each.name: each for _, node in context.spec.nodes() for each in folders(context, node)}
    if not found:
        return
    if options.models is None:
        raise InputError("no folder of models", where="--models", hint="pass --models FOLDER, or --omit models")
    accepted = frozenset(each.name for each in options.accepted)
    packages: list[LockedPackage] = []
    reasons: list[str] = []
    for name, folder in sorted(found.items()):
        model = _model_folder(context, name, folder.manifest_sha256)
        if not model.is_permitted and name not in accepted:
            reasons.append(f"licence of {name} not accepted: {model.licence or 'not in the catalogue'}")
        packages += locked_model(model, options.models)
    reasons += refused_files(packages, options.models, accepted)
    for pool in context.spec.pools:
        if pool.lora is not None:
            for adapter in pool.adapters:
                if adapter.name in found:
                    reasons += refused_adapter(options.models / adapter.name, max_lora_rank=pool.lora.max_lora_rank)
    if reasons:
        hint = "approve the licence in site.yaml, or name the model or the file in --accepted-licences FILE"
        raise LockRefused(reasons, where="models", hint=hint)
    roots = tuple(sorted(found))
    yield Part(
        id="models",
        kind="model",
        target={},
        roots=roots,
        roles={"models": roots},
        packages=tuple(sorted(packages, key=lambda each: each.name)),
        solver={"tool": "sovctl", "version": "manifests", "behaviour": behaviour(packages)},
        closure_check="closed: every file of each MANIFEST is present with its SHA-256",
    )


def _model_folder(context: Context, name: str, manifest_sha256: str) -> ModelFolder:
    model = next((each for each in context.spec.models if each.name == name), None)
    entry = context.models.get(model.catalog) if model else None
    adapters = [adapter for pool in context.spec.pools for adapter in pool.adapters]
    if adapter := next((each for each in adapters if each.name == name), None):
        is_permitted = None not in (adapter.licence, adapter.licence_approved_by, adapter.licence_approved_because)
        return ModelFolder(name, manifest_sha256, adapter.licence or "", is_permitted=is_permitted)
    if model is None or entry is None:
        return ModelFolder(name, manifest_sha256, "", is_permitted=False)
    licence = entry.licence
    is_approved = licence.commercial_use == "yes" or bool(model.licence_approved_by)
    return ModelFolder(
        name, manifest_sha256, licence.name, licence.verified and licence.commercial_use != "no" and is_approved
    )


def _own_part(own: tuple[own_files.OwnFile, ...]) -> Iterator[Part]:
    packages = own_files.others(
        own, {row.id: _SUFFIXES[row.package_manager] for row in load_operating_systems().values()}
    )
    if packages:
        names = tuple(each.name for each in packages)
        yield Part(
            id="own-files",
            kind="own-file",
            target={},
            roots=names,
            roles={"own-files": names},
            packages=packages,
            solver={"tool": "sovctl", "version": own_files.SUMS},
            closure_check="closed: every file is present with its expected SHA-256",
        )
