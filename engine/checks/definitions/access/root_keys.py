"""access.root-keys: the files from which sshd reads the keys of root contain the planned keys only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.numbers import integer
from ....facts.sshd import parse_sshd
from ....facts.unreadable import Unreadable
from ....spec import Node
from ....spec.ssh_key import key_fingerprint
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

_FILE = re.compile(r"^file (?P<path>/\S+) (?P<count>absent|\d+)$")
_KEY = re.compile(r"^key (?P<fingerprint>\S+)$")
_SETTINGS = ("pubkeyauthentication", "authorizedkeysfile", "authorizedkeyscommand", "trustedusercakeys")
_SCRIPT = r"""for f in $(sshd -T -C user=root,host=localhost,addr=127.0.0.1 | sed -n 's/^authorizedkeysfile //p'); do
  f=$(printf '%s' "$f" | sed 's,%h,/root,g; s,%u,root,g; s,%U,0,g')
  case $f in none) continue ;; /*) ;; *) f=/root/$f ;; esac
  if [ ! -e "$f" ]; then echo "file $f absent"; continue; fi
  echo "file $f $(grep -Evc '^[[:space:]]*(#|$)' "$f")"
  ssh-keygen -lf "$f" 2>/dev/null | awk '{print "key " $2}'
done"""


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Fingerprints of the keys of root.

    Args:
        keys: empty if `access.user` is not root.
        is_known: whether the public key of `access.key_file` could be read.
    """

    keys: tuple[str, ...] = ()
    is_known: bool = True


class RootKeys(Check[Expected]):
    id, version, method = "access.root-keys", 1, Method.EXAMINE
    title = "root has no ssh keys other than the planned ones"
    controls = ("ac-17", "ac-6.2", "ia-5")
    severity = Severity.CRITICAL
    remedy = "remove the key from the named file; find out when it was added, and which sessions used it"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect no key of root, or the key of `access.key_file` if `access.user` is root."""
        if site.context.spec.access.user != "root":
            yield Expected()
        elif key := site.context.access_key:
            yield Expected(keys=(key_fingerprint(key),))
        else:
            yield Expected(is_known=False)

    def probe(self, expected: Expected) -> Probe:
        """Print fingerprints only, because the comment of a key can contain a name."""
        settings = f"sshd -T -C user=root,host=localhost,addr=127.0.0.1 | grep -E '^({'|'.join(_SETTINGS)}) '"
        return Probe.of(settings=settings, keys=_SCRIPT)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every file is absent or has planned keys, and no program or authority supplies further keys."""
        sections = parse_sections(output)
        settings = parse_sshd(sections.text("settings"))
        findings = []
        if not expected.is_known:
            findings.append(unknown("the public key of access.key_file", "none"))
        for key in ("authorizedkeyscommand", "trustedusercakeys"):
            if key not in settings:
                findings.append(unknown(f"{key} for root", "none"))
            elif settings[key] != "none":
                findings.append(failed(f"{key} none for root", settings[key]))
        if "authorizedkeysfile" not in settings:
            findings.append(unknown("authorizedkeysfile for root", "none"))
        names = [each for each in settings.get("authorizedkeysfile", "").split() if each != "none"]
        files = list(_parse_files(sections.text("keys"))) if names else []
        if len(files) != len(names):
            findings.append(unknown(f"{len(names)} files with keys of root", str(len(files))))
        for path, count, keys in files:
            if count != len(keys):
                findings.append(unknown(f"a fingerprint for each of {count} lines in {path}", str(len(keys))))
            findings += [failed(f"planned keys only in {path}", each) for each in keys if each not in expected.keys]
        return worst(
            findings,
            otherwise=f"expected {len(expected.keys)} keys of root at most, got no other in {len(files)} files",
        )


def _parse_files(text: str) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """Yield path, number of lines with keys, and fingerprints. An absent file counts zero lines."""
    path, count, keys = "", 0, list[str]()
    for line in text.splitlines():
        if not line.strip():
            continue
        if match := _FILE.match(line):
            if path:
                yield path, count, tuple(keys)
            path, count, keys = match["path"], 0 if match["count"] == "absent" else integer(match["count"]), []
        elif path and (match := _KEY.match(line)):
            keys.append(match["fingerprint"])
        else:
            raise Unreadable("`file path lines` and `key fingerprint`", line, where="ssh-keygen -l")
    if path:
        yield path, count, tuple(keys)
