"""driver.tool-is-packaged: the nvidia-smi that answers is the file that its package installed.

All other checks of GPUs trust this program. The package manager's own record of the file is the second view: a program
that was replaced, or that precedes the real one in the search path, is a failure.
"""

from __future__ import annotations

from ....facts.hardware.driver_files import parse_program_file
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ._driver_check import DriverCheck, Expected

# On Debian the control file md5sums lists digests; on other systems the rpm database does.
_FILE = r"""
p=$(readlink -f "$(command -v nvidia-smi)") && [ -n "$p" ] || exit 1
echo "path $p"
if command -v dpkg-query >/dev/null; then
  o=$(dpkg-query -S "$p" 2>/dev/null | head -n 1 | cut -d: -f1); echo "owner $o"
  [ -z "$o" ] || echo "listed $(dpkg-query --control-show "$o" md5sums | sed -n "s|  ${p#/}\$||p")"
  echo "actual $(md5sum <"$p" | cut -d' ' -f1)"
else
  o=$(rpm -qf --qf '%{NAME}
' "$p" 2>/dev/null | head -n 1) || o=; echo "owner $o"
  [ -z "$o" ] || echo "listed $(rpm -q --qf '[%{FILENAMES} %{FILEDIGESTS}
]' "$o" | sed -n "s|^$p ||p")"
  echo "actual $(sha256sum <"$p" | cut -d' ' -f1)"
fi"""


class ToolIsPackaged(DriverCheck):
    id, version, method = "driver.tool-is-packaged", 1, Method.TEST
    title = "the nvidia-smi that answers is the file of its package"
    controls = ("cm-7", "si-7")
    severity = Severity.CRITICAL
    remedy = "reinstall the driver's package and find the cause; results since the replacement are not evidence"

    def probe(self, expected: Expected) -> Probe:
        """Print path, package, digest in the package's record, and digest of the file."""
        return Probe.of(tool=_FILE)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if a package owns the program, and the digests are equal."""
        tool = parse_program_file(parse_sections(output).text("tool"))
        findings = []
        if tool.owner is None:
            findings.append(failed(f"a package that owns {tool.path}", "none"))
        elif "nvidia" not in tool.owner:
            findings.append(failed(f"a package of NVIDIA as owner of {tool.path}", tool.owner))
        elif tool.listed is None:
            findings.append(unknown(f"a digest of {tool.path} in {tool.owner}", "none"))
        elif tool.listed.lower() != tool.actual:
            findings.append(failed(f"{tool.path} as {tool.owner} installed it", "another digest"))
        return worst(findings, otherwise=f"expected nvidia-smi of its package, got {tool.path} of {tool.owner}")
