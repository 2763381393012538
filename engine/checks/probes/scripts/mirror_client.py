"""Ask mirrors as a node does. Arguments: CA SNAPSHOT ADDRESS:PORT...

One JSON line per mirror: {"mirror", "manifest", "listing", "upload"}.
manifest: SHA-256 of the MANIFEST of the snapshot, or an answer; listing and upload: answer of GET of the snapshot's
folder, and of PUT of a file. An answer is `http <status>`, or the name of an error.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import ssl
import sys

TIMEOUT_S = 10.0


def answer(mirror: str, method: str, path: str) -> tuple[str, bytes]:
    context = ssl.create_default_context(cafile=sys.argv[1])
    connection = http.client.HTTPSConnection(mirror, timeout=TIMEOUT_S, context=context)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return f"http {response.status}", response.read()
    except ssl.SSLCertVerificationError:
        return "wrong server certificate", b""
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__, b""
    finally:
        connection.close()


for mirror in sys.argv[3:]:
    folder = f"/snapshots/{sys.argv[2]}/"
    status, content = answer(mirror, "GET", f"{folder}MANIFEST")
    row = {
        "mirror": mirror,
        "manifest": hashlib.sha256(content).hexdigest() if status == "http 200" else status,
        "listing": answer(mirror, "GET", folder)[0],
        "upload": answer(mirror, "PUT", f"{folder}sovctl-check")[0],
    }
    sys.stdout.write(json.dumps(row) + "\n")
