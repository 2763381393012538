"""Ask Prometheus on this node. Arguments: `targets` or `rules`, PORT.

One JSON line for each target, {"job", "address", "health", "error"}, or for each rule,
{"group", "name", "seconds", "labels", "health", "error"}. An answer other than 200 is an error without lines.
"""

from __future__ import annotations

import json
import sys
import urllib.parse
import urllib.request

TIMEOUT_S = 20.0
PATHS = {"targets": "/api/v1/targets?state=active", "rules": "/api/v1/rules"}

with urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[2]}{PATHS[sys.argv[1]]}", timeout=TIMEOUT_S) as answer:
    data = json.load(answer)["data"]
if sys.argv[1] == "targets":
    rows = [
        {
            "job": each["labels"]["job"],
            "address": urllib.parse.urlsplit(each["scrapeUrl"]).netloc,
            "health": each["health"],
            "error": each["lastError"],
        }
        for each in data["activeTargets"]
    ]
else:
    rows = [
        {
            "group": group["name"],
            "name": rule["name"],
            "seconds": rule.get("duration", 0),
            "labels": rule.get("labels") or {},
            "health": rule["health"],
            "error": rule.get("lastError", ""),
        }
        for group in data["groups"]
        for rule in group["rules"]
    ]
sys.stdout.write("".join(json.dumps(row) + "\n" for row in rows))
