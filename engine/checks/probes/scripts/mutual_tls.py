"""Knock at a TLS server that wants client certificates. Arguments: ADDRESS PORT CA CERTIFICATE KEY CONTROL-PATH PATH...

One JSON line per attempt: {"door": certificate | no-certificate | plain, "path", "answer"}.
answer: `http <status>` when the server spoke HTTP to us, tls-alert, closed, refused, timeout, or the error's name.
Server certificates are checked, so that it is the right server that turns us away.
"""

from __future__ import annotations

import json
import socket
import ssl
import sys

TIMEOUT_S = 10.0


def converse(channel: socket.socket, path: str, host: str) -> str:
    """Return the answer to one request. A TLS 1.3 server rejects a missing certificate only now."""
    channel.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    reply = channel.recv(64)
    if not reply:
        return "closed"
    words = reply.split(b" ", 2)
    if words[0].startswith(b"HTTP/") and len(words) > 1 and words[1].isdigit():
        return f"http {int(words[1])}"
    return "not http"


def unauthenticated(door: str, path: str) -> str:
    address, port, authority, certificate, key = sys.argv[1:6]
    try:
        with socket.create_connection((address, int(port)), timeout=TIMEOUT_S) as raw:
            if door == "plain":
                return converse(raw, path, address)
            context = ssl.create_default_context(cafile=authority)
            if door == "certificate":
                context.load_cert_chain(certificate, key)
            with context.wrap_socket(raw, server_hostname=address) as channel:
                return converse(channel, path, address)
    except ssl.SSLCertVerificationError:
        return "wrong server certificate"
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
        return "closed"
    except ssl.SSLError as error:
        return "tls-alert" if "ALERT" in (error.reason or "") else "tls error"
    except (ConnectionResetError, BrokenPipeError):
        return "closed"
    except ConnectionRefusedError:
        return "refused"
    except socket.timeout:  # noqa: UP041 - nodes may have Python 3.9
        return "timeout"
    except OSError as error:
        return type(error).__name__


control, paths = sys.argv[6], sys.argv[7:]
attempts = [("certificate", control), ("no-certificate", control), ("plain", control)]
for door, path in attempts + [("no-certificate", path) for path in paths]:
    sys.stdout.write(json.dumps({"door": door, "path": path, "answer": unauthenticated(door, path)}) + "\n")
