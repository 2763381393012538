"""Ask a TLS server for routes with a client certificate. Arguments: ADDRESS PORT CA CERTIFICATE KEY PATH...

One JSON line per path: {"path", "answer"}. answer: `http <status>`, or the error's name.
GET tells whether a route exists: a server answers 405 where the route has other methods only.
"""

from __future__ import annotations

import http.client
import json
import ssl
import sys

TIMEOUT_S = 10.0


def status(path: str) -> str:
    address, port, authority, certificate, key = sys.argv[1:6]
    try:
        context = ssl.create_default_context(cafile=authority)
        context.load_cert_chain(certificate, key)
        connection = http.client.HTTPSConnection(address, int(port), timeout=TIMEOUT_S, context=context)
        try:
            connection.request("GET", path)
            return f"http {connection.getresponse().status}"
        finally:
            connection.close()
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__


for path in sys.argv[6:]:
    sys.stdout.write(json.dumps({"path": path, "answer": status(path)}) + "\n")
