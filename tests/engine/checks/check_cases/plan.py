"""Cases of the checks of plan."""

from __future__ import annotations

import json

from check_cases.case import FAIL, UNKNOWN, Bad, Sample

from sovctl.engine.checks.definitions.plan import empty_after_apply, nothing_unmanaged
from sovctl.engine.plan import baseline
from sovctl.engine.plan.unmanaged import QUERIES

SAMPLES = {
    "plan.empty-after-apply": Sample(
        empty_after_apply.Expected(program="/bin/sovctl", site_file="/site.yaml", state="/state", nodes=("n1", "n2")),
        {"plan": json.dumps({"changes": [], "facts_sha256": {"n1": "a", "n2": "b"}})},
        {
            "change-left": Bad(
                {"plan": json.dumps({"changes": [{"id": "n1/pool/chat"}], "facts_sha256": {"n1": "a", "n2": "b"}})},
                FAIL,
                "n1/pool/chat",
            ),
            "node-not-observed": Bad({"plan": json.dumps({"changes": [], "facts_sha256": {"n1": "a"}})}, UNKNOWN, "n2"),
        },
        ("changes", "facts_sha256"),
    ),
    "plan.nothing-unmanaged": Sample(
        nothing_unmanaged.Expected(
            surveys=tuple((name, ("true",)) for name in (*QUERIES, baseline.QUERY)),
            allowed=("/etc/agent/*",),
            is_refused=True,
        ),
        {
            "unmanaged": '[["file", "/etc/agent/x", "of no package"]]\n',
            "unmanaged-accounts": "[]\n",
            "unmanaged-programs": "[]\n",
            "unmanaged-running": "[]\n",
            "unmanaged-since-apply": "[]\n",
        },
        {
            "a-changed-file": Bad(
                {"unmanaged-since-apply": '[["changed file", "/etc/nsswitch.conf", "content"]]'}, FAIL, "nsswitch.conf"
            ),
            "a-file": Bad(
                {"unmanaged": '[["file", "/etc/x", "of no package"]]\n'}, FAIL, "no file /etc/x, got of no package"
            ),
            "an-account": Bad(
                {"unmanaged-accounts": '[["user", "bob", "has user id 0"]]\n'}, FAIL, "no user bob, got has user id 0"
            ),
            "a-route": Bad(
                {"unmanaged-running": '[["route", "192.0.2.0/24", "dev lo"]]\n'}, FAIL, "no route 192.0.2.0/24"
            ),
            "a-library": Bad(
                {"unmanaged-programs": '[["library", "/usr/lib/libz.so.1", "of no package"]]\n'}, FAIL, "no library"
            ),
            "another-form": Bad({"unmanaged": '{"file": "/etc/x"}\n'}, UNKNOWN, "a JSON list of kind"),
            "a-row-that-is-cut": Bad({"unmanaged-accounts": '[["user", "bob"]]\n'}, UNKNOWN, "a JSON list of kind"),
            "no-database": Bad({"unmanaged": (1, "")}, UNKNOWN, "exit code 0 of unmanaged"),
        },
        ("of no package", "[]"),
    ),
}
