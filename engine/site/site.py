"""An opened site: its description, state folder, credentials, observations and plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from sovctl.compliance.signing import SigningKey, load_or_create
from sovctl.support.atomic_files import write_atomic
from sovctl.support.canonical_json import digest, sha256_hex
from sovctl.support.errors import InputError, SovctlError

from ..facts.node import NodeFacts, parse_node
from ..gather import captures, gather
from ..lifecycle.certificate_store import has_any, uncertified
from ..lifecycle.store import load as load_fleet
from ..plan import code_wheel
from ..plan.build import Comparison, changes, compare_all, context_of, requests, unmanaged_things
from ..plan.file import Plan, encode, read
from ..plan.scope import EVERYTHING, Scope, with_replicas
from ..plan.serving import Serving
from ..plan.support import refusals
from ..plan.waves import waves
from ..resources.context import Context
from ..spec import Node, NodeGroup, SiteSpec
from ..validation.load import LoadedSpec, check_files, load
from . import baseline_records, members, own_address, state_records, tree_records
from . import network_namespace as netns
from .credentials import Credentials
from .state_folder import SiteState

Report = Callable[[str], None]
APPLY_CODE = ("engine/resources", "engine/plan", "engine/apply", "playbooks", "roles")
"""Folders with the code that computes and applies a plan. A change of one makes earlier plans stale."""


class Site:
    """A loaded site.yaml with its state folder.

    Args:
        loaded: a valid site description.
    """

    def __init__(self, loaded: LoadedSpec, state: SiteState) -> None:
        self.loaded, self.spec, self.state = loaded, loaded.spec, state
        self.folder = loaded.path.resolve().parent
        self.credentials = Credentials(self.spec, state, self.folder)

    @classmethod
    def open(cls, path: Path, *, state: Path | None = None, touches_nodes: bool, data: bytes | None = None) -> Site:
        """Load a site.yaml.

        Args:
            touches_nodes: also check the files of site.yaml, enter its network namespace, and check that
                `perimeter.management` contains this controller.
            data: content of an earlier site.yaml, to use instead of the file's.

        Raises:
            SpecError: site.yaml is invalid; contains all problems.
            InputError: the firewall would end this controller's access.
        """
        loaded = load(path, data=data)
        if touches_nodes:
            netns.enter(loaded.spec.access.network_namespace)
            check_files(loaded)
            own_address.check_management(loaded.spec, (node for _, node in loaded.spec.nodes()))
        return cls(loaded, SiteState.of_site(path, state))

    def plan_key(self) -> SigningKey:
        """Return the key that signs plan files; create it if absent."""
        self.state.prepare()
        return load_or_create(self.state.keys / "plan.key")

    def saved_plan(self) -> Plan:
        """Return the plan that `sovctl plan` saved.

        Raises:
            InputError: no plan is saved; the signing key is not created then.
            PlanTampered: this controller did not sign it.
        """
        if not self.state.plan_file.exists():
            raise InputError("no plan found", where=str(self.state.plan_file), hint="sovctl plan")
        return read(self.state.plan_file, self.plan_key().public)

    def record(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Append records to the site's ledger; see `state_records.appender`."""
        state_records.appender(self.state, self.spec.site.name)(records)

    def record_waivers(self, day: date) -> None:
        """Record the waivers of site.yaml that are in effect on a day (UTC), if they differ from the last record."""
        waivers = state_records.waivers_of_site(self.spec)
        state_records.record_waivers(self.record, self.state, self.spec.site.name, waivers, day=day)

    def save_plan(self, plan: Plan, *, out: Path | None = None, no_save: bool = False) -> None:
        """Record a plan in the ledger, and save it.

        Args:
            out: further file.
            no_save: do not replace the saved plan. Without `out`, nothing is recorded.
        """
        content, path = encode(plan, self.plan_key()), self.state.plan_file
        files = [each for each in (None if no_save else path, out) if each is not None]
        if not files:
            return
        saved = {} if no_save else {str(path.relative_to(self.state.root)): content}
        self.record([state_records.plan_record(plan, site_yaml_sha256=self.loaded.text_sha256, saved=saved)])
        for file in files:
            write_atomic(file, content, mode=0o600)

    def context(self) -> Context:
        """Return the input of the resource types, with unavailable nodes and fingerprints of existing credentials.

        Raises:
            InputError: a pool has no replica on available nodes.
        """
        uncertified = self._uncertified()
        unavailable = load_fleet(self.state.root).unavailable() | uncertified
        context = replace(context_of(self.spec, self.folder), unavailable=unavailable)
        # The first plan of a site that requires certificates prepares the nodes, without pools.
        if not uncertified or has_any(self.state.root):
            _check_every_pool_serves(context)
        context = replace(context, removed=self.removed(), baselines=baseline_records.load(self.state.root))
        credentials = self.credentials
        fingerprints, sha256 = credentials.fingerprints(context), credentials.clients_sha256()
        renewals, trees = credentials.renewals(), tree_records.load(self.state.trees)
        return replace(context, fingerprints=fingerprints, clients_sha256=sha256, renewals=renewals, trees=trees)

    def _uncertified(self) -> frozenset[str]:
        """Return the nodes without a valid certificate, if site.yaml requires one."""
        if not self.spec.lifecycle.require_certificate:
            return frozenset()
        names = [node.name for _, node in self.spec.nodes()]
        key = self.state.keys / "ledger.key"
        return frozenset(uncertified(self.state.root, names, key, now=datetime.now(UTC)))

    def removed(self) -> tuple[Node, ...]:
        """Return the nodes that sovctl manages and site.yaml no longer contains, sorted by name."""
        return members.removed(members.load(self.state.root, self.state.applied), self.spec)

    @property
    def reachable(self) -> SiteSpec:
        """The site description with the removed nodes, for access to nodes only."""
        removed = list(self.removed())
        return self.spec.with_group(NodeGroup(name="removed", platform="none", nodes=removed)) if removed else self.spec

    def observe(self, context: Context, nodes: Iterable[str] | None = None, *, report: Report) -> dict[str, NodeFacts]:
        """Return the facts of nodes by name, from new captures that are saved in the state folder.

        Args:
            nodes: names; None for all nodes.
        """
        gathered = self._gather(context, nodes, report).require_all(self.reachable)
        return {name: parse_node(capture) for name, capture in gathered.items()}

    def observe_reachable(
        self, context: Context, nodes: Iterable[str] | None = None, *, report: Report
    ) -> tuple[dict[str, NodeFacts], dict[str, str]]:
        """Return the facts of the nodes that answer, and the reason by name for the others.

        A node that shares a replica with an unobserved node is also left out, because its ranks restart together. A
        node without all measurements is unobserved.

        Raises:
            NodeUnreachable: no node answers.
            SovctlError: no node has all measurements.
        """
        gathered = self._gather(context, nodes, report)
        if not gathered.captures:
            gathered.require_all(self.reachable)
        unknown = {name: message for name, (_, message) in gathered.failures.items()}
        found: dict[str, NodeFacts] = {}
        for name, each in gathered.captures.items():
            try:
                found[name] = parse_node(each)
            except SovctlError as error:
                if len(unknown) + 1 == len(gathered.captures) + len(gathered.failures):
                    raise
                unknown[name] = error.message
        unknown |= _removed_unknown(context, unknown)
        for name, pool in with_replicas(context, list(unknown)).items():
            unknown.setdefault(name, f"a replica of pool {pool} is also on a node that was not observed")
        return {name: each for name, each in found.items() if name not in unknown}, unknown

    def _gather(self, context: Context, nodes: Iterable[str] | None, report: Report) -> gather.Gathered:
        wanted = requests(context)
        # A removed node that is clean is not observed by the plan that removed it, if its apply is resumed.
        chosen = wanted if nodes is None else {name: wanted[name] for name in nodes if name in wanted}
        gathered = gather.gather(self.reachable, self.folder, chosen, report=report)
        contents = {name: captures.encode(each) for name, each in gathered.captures.items()}
        if contents:  # without an answer no file changes
            self.record(list(state_records.gather_records(self.spec.site.name, contents, gathered.failures)))
            captures.save(contents, self.state.facts)
        return gathered

    def recorded(self, folder: Path) -> dict[str, NodeFacts]:
        """Return the facts of all nodes by name, from saved captures.

        Raises:
            InputError: a capture is absent, is invalid, or lacks a measurement that a plan needs.
        """
        names = [node.name for _, node in self.spec.nodes()]
        loaded = captures.load(folder, names)
        try:
            return {name: parse_node(capture) for name, capture in loaded.items()}
        except SovctlError as error:
            hint = "capture that node again: sovctl plan without --facts"
            raise InputError(error.message, where=f"{folder}: {error.where}", hint=hint) from None

    def plan(
        self,
        context: Context,
        facts: Mapping[str, NodeFacts],
        *,
        scope: Scope = EVERYTHING,
        unknown: Mapping[str, str] | None = None,
    ) -> Plan:
        """Return the plan for the difference between expected and observed states.

        Args:
            facts: of the nodes to plan.
            unknown: reason by node that is not planned because it was not observed.
        """
        compared = compare_all(context, facts)
        found = changes(context, facts, compared, scope=scope)
        return Plan(
            site=self.spec.site.name,
            created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            sovctl_version=code_wheel.version(),
            spec_sha256=self.loaded.spec_sha256,
            inputs_sha256=inputs_digest(context),
            facts_sha256={name: _facts_digest(each) for name, each in compared.items()},
            simulated=any(each.simulated for each in facts.values()),
            changes=tuple(found),
            waves=tuple(waves(context, found, Serving(context).now(facts))),
            refusals=tuple(refusals(context, facts)),
            scope=scope,
            unknown=dict(unknown or {}),
            unmanaged=tuple(unmanaged_things(context, facts, found)),
        )


def _removed_unknown(context: Context, unknown: Mapping[str, str]) -> dict[str, str]:
    """Return the reasons why removed nodes are not planned: no answer, or a gateway that may route to them."""
    gateways = [node.name for node in context.gateway_nodes if node.name in unknown]
    found = {}
    for node in context.removed:
        if node.name in unknown:
            found[node.name] = (
                f"removed from site.yaml: {unknown[node.name]}; "
                f"if it is gone for good: sovctl node forget {node.name} --reason TEXT"
            )
        elif gateways:
            found[node.name] = f"removed from site.yaml; the gateway on {gateways[0]} may still route to it"
    return found


def _check_every_pool_serves(context: Context) -> None:
    served = {replica.pool for replica in context.serving_replicas}
    if lost := [pool.name for pool in context.spec.pools if pool.replicas and pool.name not in served]:
        raise InputError(
            f"pool {lost[0]} has no replica on available nodes; unavailable: {', '.join(sorted(context.unavailable))}",
            hint="show the nodes: sovctl node list; release a node, or remove the pool from site.yaml",
        )


def inputs_digest(context: Context) -> str:
    """Return the digest of the inputs of a plan outside site.yaml: locks, catalogue, mirror key, sovctl's code."""
    return digest(
        {
            "locks": {name: sha256_hex(path.read_bytes()) for name, path in context.locks.items()},
            "driver_lock": context.lock.id,
            "apt_key": context.apt_key_sha256,
            "code": context.code_sha256,
            "catalog": [sha256_hex(path.read_bytes()) for path in context.catalog_files],
            "hands": code_wheel.digest(APPLY_CODE),
        }
    )


def _facts_digest(compared: list[Comparison]) -> str:
    states = [[each.kind, each.name, None if observed is None else dict(observed)] for each, observed in compared]
    return digest(states)
