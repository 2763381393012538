"""Cases of the checks of plan."""

from __future__ import annotations

import json

from check_cases.case import FAIL, UNKNOWN, Bad, Sample

from sovctl.engine.checks.definitions.plan import empty_after_apply, nothing_unmanaged

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
        nothing_unmanaged.Expected(things=("true",), accounts=("true",), allowed=("/etc/agent/*",), is_refused=True),
        {"things": '[["file", "/etc/agent/x", "of no package"]]\n', "accounts": "[]\n"},
        {
            "a-file": Bad(
                {"things": '[["file", "/etc/x", "of no package"]]\n'}, FAIL, "no file /etc/x, got of no package"
            ),
            "an-account": Bad(
                {"accounts": '[["user", "bob", "has user id 0"]]\n'}, FAIL, "no user bob, got has user id 0"
            ),
            "another-form": Bad({"things": '{"file": "/etc/x"}\n'}, UNKNOWN, "a JSON list of kind"),
            "a-row-that-is-cut": Bad({"accounts": '[["user", "bob"]]\n'}, UNKNOWN, "a JSON list of kind"),
            "no-database": Bad({"things": (1, "")}, UNKNOWN, "exit code 0 of things"),
        },
        ("of no package", "[]"),
    ),
}
