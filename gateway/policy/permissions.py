"""Policy table, compiled at start: one look-up returns the permissions of a tenant on a route. Pure.

policy = Policy.compile(settings.policy, settings.routes)
permissions = policy.of("retail", "assistant")
permissions.action_for(EntityType.TAX_ID, "DE_TAX_ID")      # Action.MASK
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from sovctl.compliance.egress_policy import Row, last
from sovctl.support.errors import Problem, SpecError

from ..detect.clean_text_cache import Finder
from ..detect.findings.finding import Finding
from ..detect.language.language import NONE
from ..detect.special_categories.lexicon import CATEGORIES
from ..domain.entities import EntityType
from ..domain.obstacles import Obstacle
from ..settings import Action, ObstacleAction, PolicySettings, RouteSettings, UpstreamKind, UpstreamSettings

_STRICTNESS = (Action.ALLOW, Action.TOKENIZE, Action.MASK, Action.ON_PREM, Action.BLOCK)
"""From the least to the most restrictive."""


@dataclass(frozen=True, slots=True, eq=False)
class Permissions:
    """Actions for one tenant on one route. Equal only to itself, so that decisions can be cached by it."""

    by_entity_type: Mapping[EntityType, Action]
    """Every kind."""
    by_rule: Mapping[tuple[EntityType, str], Action]
    """Single rules of the detector that are treated in another way than their kind; mostly none."""
    name_languages: frozenset[str]
    """Languages in which the finding of names is accepted, and the word for text that is in none."""
    blocked_obstacles: frozenset[Obstacle]
    has_cloud: bool
    """The route names one; otherwise every action is `block` or `allow`."""
    clouds: frozenset[str]
    """Clouds of the route in a jurisdiction that policy allows."""

    def restricted_by(self, other: Permissions) -> Permissions:
        """Return the permissions for the clouds of `other`, whose policy applies in addition: the stricter action of
        both for each finding. A request leaves only if both routes name a cloud."""
        by_entity_type = {
            entity_type: max(action, other.by_entity_type[entity_type], key=_STRICTNESS.index)
            for entity_type, action in self.by_entity_type.items()
        }
        by_rule = {
            place: max(self.action_for(*place), other.action_for(*place), key=_STRICTNESS.index)
            for place in {**self.by_rule, **other.by_rule}
        }
        return Permissions(
            by_entity_type,
            {place: action for place, action in by_rule.items() if action is not by_entity_type[place[0]]},
            self.name_languages & other.name_languages,
            self.blocked_obstacles | other.blocked_obstacles,
            self.has_cloud and other.has_cloud,
            other.clouds,
        )

    def action_for(self, entity_type: EntityType, rule: str) -> Action:
        """Return the action for a finding of this entity type by this rule."""
        if self.by_rule and (action := self.by_rule.get((entity_type, rule))):
            return action
        return self.by_entity_type[entity_type]

    def to_replace(self, findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
        """Return the findings to replace, and those of them to mask."""
        found, masks, allow, mask = [], [], Action.ALLOW, Action.MASK  # looking up an enum's members is slow
        for finding in findings:
            action = self.action_for(finding.entity_type, finding.rule)
            if action is not allow:
                found.append(finding)
                if action is mask:
                    masks.append(finding)
        return found, masks


_NO_FALLBACKS: Mapping[str, Permissions] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Policy:
    """Permissions of all tenants and routes."""

    _permissions: Mapping[tuple[str, str], Permissions]
    """By tenant and route; tenants that no row names are `""`, which no tenant is called."""
    _of_fallbacks: Mapping[tuple[str, str], Mapping[str, Permissions]]
    """By tenant and route, then by fallback route: the stricter of both."""

    @classmethod
    def compile(
        cls, policy: PolicySettings, routes: Sequence[RouteSettings], upstreams: Sequence[UpstreamSettings] = ()
    ) -> Policy:
        """Return the permissions with every value computed in advance."""
        table = policy.table(routes)
        laws = {upstream.name: upstream.jurisdiction for upstream in upstreams if upstream.kind is UpstreamKind.CLOUD}
        permissions = {
            (tenant, route.model): _permissions(
                table.rows_for(tenant, route.model),
                table.entity_types(),
                frozenset({NONE, *policy.name_languages}),
                frozenset(each for each, action in policy.obstacles.items() if action is ObstacleAction.BLOCK),
                has_cloud=route.cloud is not None,
                clouds=frozenset(
                    name for name in route.upstreams if name in laws and policy.allows_jurisdiction(laws[name], tenant)
                ),
            )
            for tenant in {*table.tenants(), *policy.tenant_jurisdictions, ""}
            for route in routes
        }
        of_fallbacks = {
            (tenant, route.model): {
                model: permissions[tenant, route.model].restricted_by(permissions[tenant, model])
                for model in route.fallback_routes
                if (tenant, model) in permissions
            }
            for tenant, model in permissions
            for route in routes
            if route.model == model and route.fallback_routes
        }
        return cls(permissions, of_fallbacks)

    def of(self, tenant: str, route: str) -> Permissions:
        """Return the permissions of a tenant on one of its routes."""
        return self._permissions.get((tenant, route)) or self._permissions["", route]

    def of_fallbacks(self, tenant: str, route: str) -> Mapping[str, Permissions]:
        """Return the permissions of a tenant for the upstreams of each fallback route of a route, by its model."""
        return self._of_fallbacks.get((tenant, route)) or self._of_fallbacks.get(("", route), _NO_FALLBACKS)


def _permissions(
    rows: list[Row],
    rules: list[str],
    name_languages: frozenset[str],
    blocked_obstacles: frozenset[Obstacle],
    *,
    has_cloud: bool,
    clouds: frozenset[str],
) -> Permissions:
    def action(entity: str) -> Action:
        row = last(rows, entity)
        if has_cloud:
            return Action(row.action)
        return Action.BLOCK if row.routes and row.action == Action.BLOCK else Action.ALLOW

    by_entity_type = {entity_type: action(entity_type.value) for entity_type in EntityType}
    by_rule = {}
    for rule in rules:
        entity_type, _, name = rule.partition("/")
        if action(rule) is not by_entity_type[EntityType(entity_type)]:
            by_rule[EntityType(entity_type), name] = action(rule)
    return Permissions(by_entity_type, by_rule, name_languages, blocked_obstacles, has_cloud, clouds)


def check_rules(policy: PolicySettings, finder: Finder, others: Sequence[str] = ()) -> None:
    """Return when every rule that policy names is one of the detector's.

    Args:
        others: rules of other finders.

    Raises:
        SpecError: a row names an unknown tenant or route, so it would never apply.
    """
    problems = []
    for number, row in enumerate(policy.rules):
        for name in [each.partition("/")[2] for each in row.entity_types if "/" in each]:
            if name not in (rule_names := [*finder.rule_names, *others, *CATEGORIES]):
                near = difflib.get_close_matches(name, rule_names, n=1)
                hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(sorted(rule_names))}"
                message = f"expected a rule of the detector, got {name}"
                problems.append(Problem(message, where=f"policy.rules[{number}].entity_types", hint=hint))
    if problems:
        raise SpecError(problems)
