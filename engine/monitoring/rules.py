"""All rules of a site, and the rule file of Prometheus."""

from __future__ import annotations

import yaml

from ..catalog.engines import ENGINES
from ..spec import SiteSpec
from .gateways import gateway_group
from .gpus import gpu_group
from .nodes import fabric_group, node_group
from .objectives import objective_groups
from .pools import pool_group
from .rule import Group, rule_file
from .site_rules import site_groups

HEAD = "# Written by sovctl from site.yaml (monitoring). Do not edit: the next run overwrites it.\n"


def rule_groups(spec: SiteSpec) -> tuple[Group, ...]:
    """Return all groups of rules. The site must have the section `monitoring`."""
    return (
        *objective_groups(spec),
        pool_group(ENGINES[spec.software.engine]),
        gateway_group(spec),
        gpu_group(),
        fabric_group(),
        node_group(spec),
        *site_groups(spec),
    )


def rules_yaml(spec: SiteSpec) -> str:
    """Return the text of the rule file."""
    return HEAD + yaml.safe_dump(rule_file(rule_groups(spec)), sort_keys=False, width=1000, allow_unicode=True)
