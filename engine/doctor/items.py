"""The table of first steps, in the order of the first week (docs/first-week.md)."""

from __future__ import annotations

from typing import Any

from . import controller, created, named_files, nodes, supply
from .item import Item, Need, Person

_ENGINEER, _SECURITY, _NETWORK = Person.ENGINEER, Person.SECURITY, Person.NETWORK
_PLAN, _APPLY = Need.PLAN, Need.APPLY
_OUT, _IN = "outside", "inside"
SITE_YAML = "site-yaml"
_SITE = (SITE_YAML,)
_ACCESS = (*_SITE, "ssh-key", "host-keys")
_BUNDLE = (*_SITE, "bundle-root", "lock", "import-policy")
_NO_LAB: dict[str, Any] = {"is_replaced_by_lab": True}

ITEMS = (
    Item(SITE_YAML, "site description", 0, _OUT, _ENGINEER, _PLAN, controller.measure_site_yaml),
    Item("bundle-root", "root of bundles", 1, _OUT, _SECURITY, _APPLY, supply.measure_root, **_NO_LAB),
    Item("programs", "programs", 1, _IN, _ENGINEER, _APPLY, controller.measure_programs),
    Item("clock", "clock", 1, _IN, _NETWORK, _APPLY, controller.measure_clock),
    Item("network", "network", 1, _IN, _NETWORK, _PLAN, controller.measure_network, _SITE),
    Item("state", "state folder", 1, _IN, _ENGINEER, _PLAN, controller.measure_state_folder),
    Item("ssh-key", "ssh key", 1, _IN, _ENGINEER, _PLAN, named_files.measure_ssh_key, _SITE),
    Item("host-keys", "host keys", 1, _IN, _NETWORK, _PLAN, named_files.measure_host_keys, _SITE),
    Item("inventory", "inventory", 2, _IN, _ENGINEER, _APPLY, supply.measure_inventory, _ACCESS, **_NO_LAB),
    Item("manifests", "model manifests", 2, _OUT, _ENGINEER, _APPLY, supply.measure_manifests, _SITE),
    Item("lock", "lock", 2, _OUT, _ENGINEER, _APPLY, supply.measure_lock, (*_SITE, "inventory"), **_NO_LAB),
    Item("import-policy", "import policy", 3, _IN, _SECURITY, _APPLY, supply.measure_policy, **_NO_LAB),
    Item("import", "imported bundle", 3, _IN, _SECURITY, _APPLY, supply.measure_import, _BUNDLE, **_NO_LAB),
    Item("mirror", "mirror", 4, _IN, _ENGINEER, _APPLY, supply.measure_mirror, (*_SITE, "import")),
    Item("repository-key", "repository key", 4, _IN, _ENGINEER, _PLAN, named_files.measure_repository_key, _SITE),
    Item("secrets", "secrets", 4, _IN, _SECURITY, _PLAN, named_files.measure_secrets, _SITE),
    Item("files", "other files", 4, _IN, _ENGINEER, _PLAN, named_files.measure_other_files, _SITE),
    Item("inputs", "inputs of the plan", 4, _IN, _ENGINEER, _PLAN, controller.measure_inputs, _SITE),
    Item("nodes", "nodes", 4, _IN, _NETWORK, _PLAN, nodes.measure_nodes, (*_ACCESS, "network")),
    Item("ledger-key", "ledger key", 4, _IN, _ENGINEER, _APPLY, created.measure_ledger_key),
    Item("authority", "certificate authority", 4, _IN, _ENGINEER, _APPLY, created.measure_authority, _SITE),
    Item("vault-keys", "vault and token keys", 4, _IN, _ENGINEER, _APPLY, created.measure_vault_keys, _SITE),
)
"""All items, in order. `after` names earlier items only; a test checks it."""
