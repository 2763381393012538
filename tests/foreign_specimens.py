"""Invented files of other tools, small and in their real form."""

from __future__ import annotations

import json
from typing import Any

XCCDF = """<?xml version="1.0" encoding="UTF-8"?>
<Benchmark xmlns="http://checklists.nist.gov/xccdf/1.2" id="xccdf_test_benchmark_one">
  <Rule id="xccdf_test_rule_a" severity="high"><title>Remove
    telnet</title></Rule>
  <Rule id="xccdf_test_rule_b" severity="low"><title>Use &amp; keep</title></Rule>
  <TestResult id="xccdf_test_testresult_1" start-time="2026-11-28T10:00:00+00:00"
              end-time="2026-11-28T10:01:00+00:00" test-system="cpe:/a:redhat:openscap:1.3.7">
    <benchmark href="#one" id="xccdf_test_benchmark_one"/>
    <target>n1</target>
    <rule-result idref="xccdf_test_rule_a" severity="high"><result>fail</result></rule-result>
    <rule-result idref="xccdf_test_rule_b" severity="low"><result>pass</result></rule-result>
  </TestResult>
</Benchmark>
"""
ARF = (
    '<arf:asset-report-collection xmlns:arf="http://scap.nist.gov/schema/asset-reporting-format/1.1"><arf:reports>'
    '<arf:report id="r1"><arf:content>' + XCCDF.partition("?>\n")[2] + "</arf:content></arf:report></arf:reports>"
    "</arf:asset-report-collection>"
)
SARIF: dict[str, Any] = {
    "version": "2.1.0",
    "runs": [
        {
            "tool": {
                "driver": {
                    "name": "scanner",
                    "semanticVersion": "2.3.4",
                    "rules": [{"id": "R1", "shortDescription": {"text": "No passwords"}}],
                }
            },
            "results": [
                {
                    "ruleId": "R1",
                    "level": "error",
                    "message": {"text": "password hunter2 found"},
                    "locations": [{"physicalLocation": {"artifactLocation": {"uri": "etc/app.conf"}}}],
                },
                {"ruleId": "R2", "kind": "pass", "message": {"text": "fine"}},
            ],
        }
    ],
}
HDF: dict[str, Any] = {
    "platform": {"name": "debian", "release": "12", "target_id": "n1"},
    "version": "5.22.3",
    "profiles": [
        {
            "name": "baseline",
            "version": "1.0",
            "controls": [
                {
                    "id": "V-1",
                    "title": "Lock accounts",
                    "impact": 0.7,
                    "tags": {"nist": ["AC-7"]},
                    "results": [
                        {"status": "passed", "code_desc": "a", "start_time": "2026-11-28T10:00:00Z"},
                        {"status": "failed", "code_desc": "b", "start_time": "2026-11-28T10:00:01Z"},
                    ],
                },
                {"id": "V-2", "title": "Not here", "impact": 0, "results": [{"status": "passed"}]},
                {"id": "V-3", "title": "Never run", "impact": 0.5, "results": []},
            ],
        }
    ],
}
GRYPE: dict[str, Any] = {
    "matches": [
        {
            "vulnerability": {"id": "CVE-2026-1", "severity": "High", "fix": {"state": "fixed", "versions": ["2"]}},
            "artifact": {"name": "zlib1g", "version": "1.2.13", "purl": "pkg:deb/debian/zlib1g@1.2.13"},
        }
    ],
    "descriptor": {
        "name": "grype",
        "version": "0.99.0",
        "timestamp": "2026-11-28T10:00:00Z",
        "db": {"status": {"built": "2026-11-27T01:00:00Z"}},
    },
}
FILES: dict[str, bytes] = {
    "xccdf": XCCDF.encode(),
    "arf": ARF.encode(),
    "sarif": json.dumps(SARIF).encode(),
    "hdf": json.dumps(HDF).encode(),
    "grype": json.dumps(GRYPE).encode(),
}
