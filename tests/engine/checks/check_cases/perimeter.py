"""Cases of the checks of perimeter."""

from __future__ import annotations

import json

from check_cases.case import FAIL, UNKNOWN, Bad, Sample, lines

from sovctl.engine.checks.definitions.perimeter import (
    default_drop,
    exception_only_from_gateway,
    no_way_out,
    ruleset_returns_at_boot,
)
from sovctl.engine.checks.definitions.perimeter._attempts import Endpoint


def ruleset(
    *, policy: str = "drop", hooks: tuple[str, ...] = ("input", "forward", "output"), open_rule: bool = False
) -> str:
    """nft's JSON for a wall."""
    entries: list[object] = [
        {"metainfo": {"version": "1.0.6", "json_schema_version": 1}},
        {"table": {"family": "inet", "name": "sovctl", "handle": 1}},
    ]
    for handle, hook in enumerate(hooks, 1):
        chain = {"family": "inet", "table": "sovctl", "name": hook, "handle": handle}
        entries.append({"chain": {**chain, "type": "filter", "hook": hook, "prio": 0, "policy": policy}})
    match = {"match": {"op": "==", "left": {"meta": {"key": "iif"}}, "right": "lo"}}
    expressions = [{"accept": None}] if open_rule else [match, {"accept": None}]
    entries.append({"rule": {"family": "inet", "table": "sovctl", "chain": "input", "handle": 9, "expr": expressions}})
    return json.dumps({"nftables": entries})


CLOUD, BESIDE, NOWHERE = Endpoint("10.88.0.2", 443), Endpoint("10.88.0.2", 9), Endpoint("192.0.2.1", 443)


def attempts(*ways: tuple[Endpoint, str, str]) -> str:
    """Output of egress.py."""
    return lines(*({"address": end.address, "port": end.port, "tcp": tcp, "udp": udp} for end, tcp, udp in ways))


NFTABLES = (
    "Id=nftables.service\nLoadState=loaded\nUnitFileState=enabled\n"
    "ExecStart={ path=/usr/sbin/nft ; argv[]=/usr/sbin/nft -f /etc/nftables.conf ; ignore_errors=no ; pid=0 }\n"
)
RUNNING = (
    "table inet sovctl {\n\tchain input {\n\t\ttype filter hook input priority filter; policy drop;\n"
    "\t\tip saddr 10.77.0.1 tcp dport 22 accept\n\t}\n}\n"
)
AT_BOOT = f"#!/usr/sbin/nft -f\nflush ruleset\n\n{RUNNING}"

SAMPLES = {
    "perimeter.ruleset-returns-at-boot": Sample(
        ruleset_returns_at_boot.Expected(),
        {"unit": NFTABLES, "file": AT_BOOT, "running": RUNNING},
        {
            "disabled": Bad({"unit": NFTABLES.replace("=enabled", "=disabled")}, FAIL, "disabled"),
            "masked": Bad({"unit": NFTABLES.replace("=loaded", "=masked")}, FAIL, "masked"),
            "other-file": Bad({"unit": NFTABLES.replace("/etc/nft", "/root/nft")}, FAIL, "another command"),
            "rule-in-the-file": Bad({"file": AT_BOOT.replace("port 22", "port 23")}, FAIL, "only in the kernel"),
            "empty-file": Bad({"file": "flush ruleset\n"}, FAIL, "only in the kernel"),
            "other-table": Bad({"running": f"{RUNNING}table ip filter {{\n}}\n"}, FAIL, "table ip filter"),
        },
        ("LoadState", "UnitFileState", "ExecStart", "Id=", "table inet", "dport 22"),
    ),
    "perimeter.default-drop": Sample(
        default_drop.Expected(),
        {"ruleset": ruleset()},
        {
            "accepts": Bad({"ruleset": ruleset(policy="accept")}, FAIL, "policy drop on input"),
            "no-output": Bad({"ruleset": ruleset(hooks=("input", "forward"))}, FAIL, "output"),
            "no-table": Bad(
                {"ruleset": '{"nftables": [{"metainfo": {"json_schema_version": 1}}]}'}, FAIL, "no such table"
            ),
            "open-to-all": Bad({"ruleset": ruleset(open_rule=True)}, FAIL, "handle 9"),
        },
    ),
    "perimeter.no-way-out": Sample(
        no_way_out.Expected(endpoints=(CLOUD, BESIDE, NOWHERE)),
        {
            "root": attempts(
                (CLOUD, "timeout", "denied"), (BESIDE, "timeout", "denied"), (NOWHERE, "no-route", "no-route")
            ),
            "names": '{"name": "example.com", "addresses": []}\n',
        },
        {
            "public-name": Bad(
                {"names": '{"name": "example.com", "addresses": ["192.0.2.7"]}\n'}, FAIL, "no address of example.com"
            ),
            "connected": Bad(
                {
                    "root": attempts(
                        (CLOUD, "timeout", "denied"), (BESIDE, "connected", "denied"), (NOWHERE, "timeout", "denied")
                    )
                },
                FAIL,
                "10.88.0.2:9 blocked for root, got TCP connected",
            ),
            "datagram-left": Bad(
                {
                    "root": attempts(
                        (CLOUD, "timeout", "denied"), (BESIDE, "timeout", "sent"), (NOWHERE, "timeout", "denied")
                    )
                },
                FAIL,
                "UDP sent",
            ),
            # Who refused cannot be told: the node's own firewall, or somebody outside.
            "refused": Bad(
                {
                    "root": attempts(
                        (CLOUD, "refused", "denied"), (BESIDE, "timeout", "denied"), (NOWHERE, "timeout", "denied")
                    )
                },
                UNKNOWN,
                "refused",
            ),
        },
        ("10.88.0.2", "192.0.2.1"),
    ),
    "perimeter.exception-only-from-gateway": Sample(
        exception_only_from_gateway.Expected(endpoints=(CLOUD,), is_gateway=True),
        {"root": attempts((CLOUD, "timeout", "denied")), "gateway": attempts((CLOUD, "connected", "denied"))},
        {
            "open-for-root": Bad({"root": attempts((CLOUD, "connected", "denied"))}, FAIL, "for root"),
            "closed-for-gateway": Bad(
                {"gateway": attempts((CLOUD, "timeout", "denied"))}, FAIL, "reachable for the gateway"
            ),
            "no-such-user": Bad({"gateway": (1, "")}, UNKNOWN, "exit code 0 of gateway"),
        },
        ("10.88.0.2",),
    ),
}
