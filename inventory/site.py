#!/usr/bin/env python3
"""Ansible inventory of a site.yaml: hosts, groups and role variables of the desired state.

    ansible-playbook -i inventory/site.py playbooks/site.yml --limit n1 --tags clock
    inventory/site.py --prepare      # creates missing keys and certificates, and the sovctl wheel

The path of site.yaml is in SOVCTL_SITE (default: site.yaml in the current folder). `--list` and `--host` only read.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from sovctl.engine.apply.desired_inventory import desired_inventory
from sovctl.engine.facts.node import NodeFacts, parse_node
from sovctl.engine.gather import captures
from sovctl.engine.plan import code_wheel
from sovctl.engine.site.site import Site
from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import SovctlError


def main(arguments: list[str]) -> int:
    """Print an inventory, or prepare the files that it names. Return the exit code."""
    parser = argparse.ArgumentParser(description="Ansible inventory of a site.yaml (path: SOVCTL_SITE).")
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--list", action="store_true", help="print all hosts and groups")
    wanted.add_argument("--host", metavar="NAME", help="print the variables of a host")
    wanted.add_argument("--prepare", action="store_true", help="create missing keys, certificates and the wheel")
    given = parser.parse_args(arguments)
    try:
        site = Site.open(Path(os.environ.get("SOVCTL_SITE") or "site.yaml"), touches_nodes=False)
        wheel = site.state.root / "code" / code_wheel.file_name()
        if given.prepare:
            site.state.prepare()
            site.credentials.ensure(site.context())
            write_atomic(wheel, code_wheel.build())
            return 0
        content = desired_inventory(site, site.context(), recorded_facts(site), wheel=wheel)
    except SovctlError as error:
        hint = f"; {error.hint}" if error.hint else ""
        sys.stderr.write(f"{error.where or 'site.yaml'}: {error.message}{hint}\n")
        return int(error.exit_code)
    json.dump(content["_meta"]["hostvars"].get(given.host, {}) if given.host else content, sys.stdout)
    return 0


def recorded_facts(site: Site) -> dict[str, NodeFacts]:
    """Return the facts of the nodes that `sovctl plan` has observed, by name."""
    found = {}
    for _, node in site.spec.nodes():
        if (site.state.facts / f"{node.name}.json").is_file():
            found[node.name] = parse_node(captures.load(site.state.facts, [node.name])[node.name])
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
