"""Policy table, compiled at start: one look-up returns the permissions of a tenant on a route. Pure.

policy = Policy.compile(settings.policy, settings.routes)
permissions = policy.of("retail", "assistant")
permissions.action_for(EntityType.TAX_ID, "DE_TAX_ID")      # Action.MASK
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sovctl.compliance.egress_policy import Row, last
from sovctl.support.errors import Problem, SpecError

from ..detect.clean_text_cache import Finder
from ..detect.language.language import NONE
from ..detect.special_categories.lexicon import CATEGORIES
from ..domain.entities import EntityType
from ..domain.obstacles import Obstacle
from ..settings import Action, ObstacleAction, PolicySettings, RouteSettings, UpstreamKind, UpstreamSettings


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

    def action_for(self, entity_type: EntityType, rule: str) -> Action:
        """Return the action for a finding of this entity type by this rule."""
        if self.by_rule and (action := self.by_rule.get((entity_type, rule))):
            return action
        return self.by_entity_type[entity_type]


@dataclass(frozen=True, slots=True)
class Policy:
    """Permissions of all tenants and routes."""

    _permissions: Mapping[tuple[str, str], Permissions]
    """By tenant and route; tenants that no row names are `""`, which no tenant is called."""

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
        return cls(permissions)

    def of(self, tenant: str, route: str) -> Permissions:
        """Return the permissions of a tenant on one of its routes."""
        return self._permissions.get((tenant, route)) or self._permissions["", route]


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
