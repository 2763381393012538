"""The table of first steps, in the order of the first week (docs/first-week.md)."""

from __future__ import annotations

from . import controller, created, named_files, nodes, supply
from .item import Item, Need, Person

_ENGINEER, _SECURITY, _NETWORK = Person.ENGINEER, Person.SECURITY, Person.NETWORK
_PLAN, _APPLY = Need.PLAN, Need.APPLY
_OUT, _IN = "outside", "inside"
SITE_YAML = "site-yaml"
_SITE = (SITE_YAML,)

ITEMS = (
    Item(SITE_YAML, "site description", 0, _OUT, _ENGINEER, _PLAN, controller.measure_site_yaml, is_of_lab=True),
    Item("bundle-root", "root of bundles", 1, _OUT, _SECURITY, _APPLY, supply.measure_root),
    Item("programs", "programs", 1, _IN, _ENGINEER, _APPLY, controller.measure_programs, is_of_lab=True),
    Item("clock", "clock", 1, _IN, _NETWORK, _APPLY, controller.measure_clock, is_of_lab=True),
    Item("network", "network", 1, _IN, _NETWORK, _PLAN, controller.measure_network, _SITE, is_of_lab=True),
    Item("state", "state folder", 1, _IN, _ENGINEER, _PLAN, controller.measure_state_folder, is_of_lab=True),
    Item("ssh-key", "ssh key", 1, _IN, _ENGINEER, _PLAN, named_files.measure_ssh_key, _SITE, is_of_lab=True),
    Item("host-keys", "host keys", 1, _IN, _NETWORK, _PLAN, named_files.measure_host_keys, _SITE, is_of_lab=True),
    Item(
        "inventory",
        "inventory",
        2,
        _IN,
        _ENGINEER,
        _APPLY,
        supply.measure_inventory,
        (SITE_YAML, "ssh-key", "host-keys"),
    ),
    Item("manifests", "model manifests", 2, _OUT, _ENGINEER, _APPLY, supply.measure_manifests, _SITE, is_of_lab=True),
    Item("lock", "lock", 2, _OUT, _ENGINEER, _APPLY, supply.measure_lock, (SITE_YAML, "inventory")),
    Item("import-policy", "import policy", 3, _IN, _SECURITY, _APPLY, supply.measure_policy),
    Item(
        "import",
        "imported bundle",
        3,
        _IN,
        _SECURITY,
        _APPLY,
        supply.measure_import,
        (SITE_YAML, "bundle-root", "lock", "import-policy"),
    ),
    Item("mirror", "mirror", 4, _IN, _ENGINEER, _APPLY, supply.measure_mirror, (SITE_YAML, "import"), is_of_lab=True),
    Item(
        "repository-key",
        "repository key",
        4,
        _IN,
        _ENGINEER,
        _PLAN,
        named_files.measure_repository_key,
        _SITE,
        is_of_lab=True,
    ),
    Item("secrets", "secrets", 4, _IN, _SECURITY, _PLAN, named_files.measure_secrets, _SITE, is_of_lab=True),
    Item("files", "other files", 4, _IN, _ENGINEER, _PLAN, named_files.measure_other_files, _SITE, is_of_lab=True),
    Item("inputs", "inputs of the plan", 4, _IN, _ENGINEER, _PLAN, controller.measure_inputs, _SITE, is_of_lab=True),
    Item(
        "nodes",
        "nodes",
        4,
        _IN,
        _NETWORK,
        _PLAN,
        nodes.measure_nodes,
        (SITE_YAML, "network", "ssh-key", "host-keys"),
        is_of_lab=True,
    ),
    Item("ledger-key", "ledger key", 4, _IN, _SECURITY, _APPLY, created.measure_ledger_key, is_of_lab=True),
    Item("authority", "certificate authority", 4, _IN, _SECURITY, _APPLY, created.measure_authority, _SITE, True),
    Item("vault-keys", "vault and token keys", 4, _IN, _SECURITY, _APPLY, created.measure_vault_keys, _SITE, True),
)
"""All items, in order. `after` names earlier items only; a test checks it."""
