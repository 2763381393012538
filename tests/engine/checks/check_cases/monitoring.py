"""Cases of the checks of monitoring."""

from __future__ import annotations

from typing import Any

from check_cases.case import FAIL, UNKNOWN, A, Bad, C, Sample, lines

from sovctl.engine.checks.definitions.monitoring import rules_loaded, targets_up

TARGETS = (("sovctl-nodes", "10.77.0.11:9100"), ("prometheus", "127.0.0.1:9090"))


def targets(**changes: object) -> str:
    """Answers of both targets; the values are those of the first."""
    first = {"job": TARGETS[0][0], "address": TARGETS[0][1], "health": "up", "error": ""} | changes
    return lines(first, {"job": TARGETS[1][0], "address": TARGETS[1][1], "health": "up", "error": ""})


ALERT = {"group": "g", "name": "SovctlTargetDown", "seconds": 5, "labels": {"severity": "critical"}, "health": "ok",
         "error": ""}  # fmt: skip
RECORD = {"group": "g", "name": "sovctl:a", "seconds": 0, "labels": {}, "health": "ok", "error": ""}
RULES = ("g/SovctlTargetDown for 5 s severity=critical", "g/sovctl:a for 0 s")
FILE = "  /etc/sovctl/monitoring/rules.yaml\n"
TIMES = "@1764000060\n@1764000000\n"


def rules(**changes: Any) -> str:
    """Answers of both rules; the values are those of the alert."""
    return lines(ALERT | changes, RECORD)


SAMPLES = {
    "monitoring.targets-up": Sample(
        targets_up.Expected(targets=TARGETS),
        {"targets": targets()},
        {
            "down": Bad({"targets": targets(health="down", error="connection refused")}, FAIL, "connection refused"),
            "not-read-yet": Bad({"targets": targets(health="unknown")}, UNKNOWN, "a scrape of sovctl-nodes"),
            "absent": Bad({"targets": targets().splitlines()[1] + "\n"}, FAIL, "no such target"),
            "foreign": Bad({"targets": targets() + lines({"job": "x", "address": "y", "health": "up", "error": ""})},
                           FAIL, "only targets of site.yaml"),
            "no-answer": Bad({"targets": (1, "")}, UNKNOWN, ""),
            "other-text": Bad({"targets": "{}\n"}, UNKNOWN, "job, address"),
        },
        ("10.77.0.11:9100", "127.0.0.1:9090"),
    ),
    "monitoring.rules-loaded": Sample(
        rules_loaded.Expected(rules=RULES, sha256=C),
        {"rules": rules(), "file": C + FILE, "times": TIMES},
        {
            "other-file": Bad({"file": A + FILE}, FAIL, A[:12]),
            "older-process": Bad({"times": "@1764000000\n@1764000060\n"}, FAIL, "an older process"),
            "not-started": Bad({"times": "\n@1764000060\n"}, UNKNOWN, "two times"),
            "not-loaded": Bad({"rules": lines(RECORD)}, FAIL, "not loaded"),
            "longer": Bad({"rules": rules(seconds=500)}, FAIL, "for 500 s"),
            "weaker": Bad({"rules": rules(labels={"severity": "none"})}, FAIL, "severity=none"),
            "foreign": Bad({"rules": rules() + lines(RECORD | {"name": "other"})}, FAIL, "only rules of site.yaml"),
            "error": Bad({"rules": rules(health="err", error="many-to-many")}, FAIL, "many-to-many"),
            "not-evaluated": Bad({"rules": rules(health="unknown")}, UNKNOWN, "an evaluation of g/SovctlTargetDown"),
            "no-answer": Bad({"rules": (1, "")}, UNKNOWN, ""),
            "other-text": Bad({"rules": "[]\n"}, UNKNOWN, "one JSON line"),
        },
        ("SovctlTargetDown", "sovctl:a", C[:12]),
    ),
}  # fmt: skip
