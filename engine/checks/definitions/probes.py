"""The probes: what is run on a node to look at it. Texts only; nothing here runs anything.

Every probe is made of parts (`parts.script`), reads and changes nothing, and prints no secret: keys come in on standard
input, and what a process was given as an API key is blotted out on the node.
"""

from __future__ import annotations

import shlex

from sovctl.support.package_files import package_folder

from ...facts.apt_sources import FILE_MARK
from ...resources.context import GATEWAY_USER
from ...resources.credential import TLS
from ...resources.environment import GATEWAY, ROOT
from ...resources.gateway_config import DATA as GATEWAY_DATA
from ..model.check import Expectation, Probe
from ..model.probe_sections import script
from .gateway import GatewayExpectation, LeavingExpectation
from .host import ClockExpectation, SshExpectation
from .infiniband import InfinibandExpectation
from .model_store import STORE, STRANGE, ModelExpectation
from .nvlink import FabricExpectation
from .perimeter import ExceptionExpectation, NoWayOutExpectation
from .plan import PlanExpectation
from .pool import (
    CONTROL_PATH,
    FORBIDDEN,
    OFFLINE,
    UNAUTHENTICATED_PATHS,
    PoolExpectation,
)
from .site import AuthorityExpectation, KeysExpectation, LedgerExpectation

SCRIPTS = package_folder("engine/checks/definitions/probe_scripts")

GATEWAY_PYTHON = f"{ROOT}/{GATEWAY}/bin/python"

GPUS = "nvidia-smi -q -x"
PCI_BUS = 'for d in /sys/bus/pci/devices/*; do echo "$(cat "$d/vendor") $(cat "$d/device") $(cat "$d/class")"; done'
PACKAGES = r"dpkg-query -W -f '${Package}\t${Version}\t${Architecture}\t${db:Status-Abbrev}\n'"
APT_SETTINGS = (
    "Acquire::AllowInsecureRepositories",
    "Acquire::AllowDowngradeToInsecureRepositories",
    "APT::Get::AllowUnauthenticated",
)
UNIT_PROPERTIES = "Id,LoadState,ActiveState,SubState,MainPID"

CLOCK_SETTLES_S = 15  # with iburst chrony has four answers after 6 s (chrony.conf(5)); twice that, and some

MODEL_TIMEOUT_S = 3 * 3600  # 700 GB at 100 MB/s, the slowest store we can imagine, is two hours
MODEL_READERS = 4  # SHA-256 runs at about 2 GB/s a core; four keep an NVMe busy without starving the pool


def python(name: str, *arguments: str, user: str | None = None, interpreter: str = "python3") -> str:
    """A command that runs one of `probe_scripts` on the node; its standard input stays free.

    Args:
        user: on the node; root when None.
    """
    text = (SCRIPTS / f"{name}.py").read_text()
    words = [interpreter, "-B", "-c", text, *arguments]
    return shlex.join(["runuser", "-u", user, "--", *words] if user else words)


def show_units(*units: str) -> str:
    """`systemctl show` of units, in the form that `facts.units` reads."""
    return f"systemctl show -p {UNIT_PROPERTIES} {shlex.join(units)}"


def gpus(_: Expectation) -> Probe:
    """The driver's view of the GPUs, and the bus's."""
    return Probe(script(gpus=GPUS, bus=PCI_BUS))


def links(_: Expectation) -> Probe:
    """NVLink status, counters and topology."""
    return Probe(
        script(
            links="nvidia-smi nvlink -s",
            errors="nvidia-smi nvlink -e",
            topology="nvidia-smi topo -m",
            access="nvidia-smi topo -p2p n",
        )
    )


def fabric(expectation: FabricExpectation) -> Probe:
    """The fabric's units and the GPUs' view of the fabric."""
    units = [f"{each}.service" for each in expectation.services]
    return Probe(script(services=show_units(*units) if units else "false", gpus=GPUS))


def infiniband(_: InfinibandExpectation) -> Probe:
    """Adapters and ports in sysfs, and the PCI bus."""
    files = "fw_ver board_id hca_type ports/*/state ports/*/phys_state ports/*/rate ports/*/link_layer"
    tree = f"""cd /sys/class/infiniband 2>/dev/null || exit 0
for adapter in *; do [ -e "$adapter" ] || continue
for file in {" ".join(f'"$adapter"/{each}' for each in files.split())}; do
[ -r "$file" ] && echo "$file:$(cat "$file")"; done; done; true"""
    adapters = "ls -1 /sys/class/infiniband 2>/dev/null | wc -l"
    return Probe(script(adapters=adapters, tree=tree, bus=PCI_BUS))


def software(_: Expectation) -> Probe:
    """Packages, holds and sources; the driver as the kernel, nvidia-smi and fabric manager name it."""
    return Probe(
        script(
            packages=PACKAGES,
            holds="apt-mark showhold",
            module="cat /proc/driver/nvidia/version",
            gpus=GPUS,
            program="nv-fabricmanager --version",
            services=show_units("nvidia-fabricmanager.service"),
        )
    )


def sources(_: Expectation) -> Probe:
    """Where apt would read from, in apt's own words."""
    places = "/etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources"
    files = f'for f in {places}; do [ -s "$f" ] && {{ echo "{FILE_MARK}$f"; cat "$f"; echo; }}; done; true'
    names = f"^({'|'.join(APT_SETTINGS)}) "
    settings = f"apt-config dump --format '%f %v%n' | grep -iE {shlex.quote(names)}"
    return Probe(script(targets="apt-get indextargets", files=files, settings=settings))


def ssh(expectation: SshExpectation) -> Probe:
    """The server's effective configuration for each login."""
    return Probe(
        script(
            **{
                f"user_{number}": f"sshd -T -C {shlex.quote(f'user={user},host=localhost,addr=127.0.0.1')}"
                for number, user in enumerate(expectation.users)
            }
        )
    )


def clock(expectation: ClockExpectation) -> Probe:
    """chrony's own account; -N keeps the sources' names as they are configured.

    A clock that has just started takes some seconds until its measurements are worth something; those are waited for.
    """
    is_close = f"$3 > 0 && $11 / 2 + $12 < {expectation.max_offset_ms / 1000}"  # root delay and dispersion, seconds
    wait = (
        f"for second in $(seq {CLOCK_SETTLES_S}); do "
        f"chronyc -c tracking | awk -F, '{{exit !({is_close})}}' && break; sleep 1; done"
    )
    tracking = f"({wait}) >/dev/null 2>&1; chronyc -N -c tracking"
    return Probe(script(tracking=tracking, sources="chronyc -N -c sources"))


def ruleset(_: Expectation) -> Probe:
    """The kernel's rules, not a file."""
    return Probe(script(ruleset="nft -j list ruleset"))


def no_way_out(expectation: NoWayOutExpectation) -> Probe:
    """Attempts to reach out, as root."""
    return Probe(script(root=python("egress", *map(str, expectation.endpoints))))


def exceptions(expectation: ExceptionExpectation) -> Probe:
    """Attempts at the named exceptions, as root, and on a gateway node as the gateway's user."""
    endpoints = [str(each) for each in expectation.endpoints]
    commands = {"root": python("egress", *endpoints)}
    if expectation.is_gateway:
        commands["gateway"] = python("egress", *endpoints, user=GATEWAY_USER)
    return Probe(script(**commands))


def model(expectation: ModelExpectation) -> Probe:
    """Every byte of the model."""
    folder = shlex.quote(f"{STORE}/{expectation.subject}")
    found = "find . -type f ! -path ./MANIFEST ! -path ./.verified -print0"
    files = f"{found} | xargs -0 -r -n 1 -P {MODEL_READERS} sha256sum"
    return Probe(
        script(
            manifest_sha256=f"sha256sum < {folder}/MANIFEST",
            manifest=f"cat {folder}/MANIFEST",
            files=f"cd {folder} && {files}",
            strange=f"cd {folder} && echo {STRANGE} && find . ! -type f ! -type d -print",
        ),
        timeout_s=MODEL_TIMEOUT_S,
    )


def pool_process(expectation: PoolExpectation) -> Probe:
    """The unit, its flags file, the process that runs, and what its environment says about calling out."""
    unit, config = shlex.quote(expectation.unit), shlex.quote(expectation.config)
    pid = f'pid=$(systemctl show -p MainPID --value {unit}); [ "$pid" -gt 0 ] || exit 3'
    blot = r"sed -e '/^--api-key$/{n;s/.*/(secret)/}' -e 's/^--api-key=.*/--api-key=(secret)/'"
    names = "|".join(sorted({*OFFLINE, *FORBIDDEN}))
    return Probe(
        script(
            unit=show_units(expectation.unit),
            config=f"sed -e 's/^\\( *api[-_]key *:\\).*/\\1 (secret)/' {config}",
            process=f"{pid}; tr '\\0' '\\n' < /proc/$pid/cmdline | {blot}",
            times=f"{pid}; age=$(ps -o etimes= -p $pid) || exit 3; echo started $(( $(date +%s) - age )); "
            f"echo written $(stat -c %Y {config})",
            environment=f"{pid}; echo variables $(tr '\\0' '\\n' < /proc/$pid/environ | wc -l); "
            f"tr '\\0' '\\n' < /proc/$pid/environ | grep -E '^({names})=' || true",
        )
    )


def canary(expectation: PoolExpectation) -> Probe:
    """A completion, by the same program that watches the pool."""
    config = expectation.config.removesuffix(".yaml") + ".probe.json"
    return Probe(script(canary=f"/usr/local/lib/sovctl/probe --config {shlex.quote(config)}"), timeout_s=120)


def doors(expectation: PoolExpectation) -> Probe:
    """Attempts at the pool with and without a client certificate."""
    identity = (f"{TLS}/ca.pem", f"{TLS}/node.pem", f"{TLS}/node.key")
    address, port = expectation.address, str(expectation.port)
    command = python("mutual_tls", address, port, *identity, CONTROL_PATH, *UNAUTHENTICATED_PATHS)
    return Probe(script(doors=command), timeout_s=120)


def ask(expectation: GatewayExpectation, mode: str, *arguments: str, interpreter: str = "python3") -> Probe:
    """A client's request at the gateway; the key comes in on standard input, except to `knock`, which has none."""
    command = python("gateway_client", mode, expectation.url, f"{TLS}/ca.pem", *arguments, interpreter=interpreter)
    return Probe(script(ask=command), timeout_s=180, secret=None if mode == "knock" else expectation.key)


def chat(expectation: GatewayExpectation) -> Probe:
    """One chat with every model name."""
    return ask(expectation, "chat", *expectation.models)


def knock(expectation: GatewayExpectation) -> Probe:
    """Requests that must be refused."""
    return ask(expectation, "knock", expectation.models[0])


def seal(expectation: GatewayExpectation) -> Probe:
    """A tokenized request with invented identifiers, and a search for them in the vault's files."""
    return ask(expectation, "seal", expectation.cloud_model or "", f"{GATEWAY_DATA}/vault.db")


def record(expectation: GatewayExpectation) -> Probe:
    """A request, and a search for its record; read by the gateway's own interpreter, which knows the ledger's form."""
    model = expectation.models[0]
    return ask(expectation, "record", model, f"{GATEWAY_DATA}/ledger", interpreter=GATEWAY_PYTHON)


def keys(expectation: KeysExpectation) -> Probe:
    """Mode and owner of private files; contents are not read."""
    files = " ".join(shlex.quote(each.path) for each in expectation.files)
    patterns = " ".join(f"{shlex.quote(folder)}/{glob}" for folder, glob in expectation.patterns)
    listing = f"""for f in {files}; do stat -c "%a %u %n" "$f" 2>/dev/null || echo "absent - $f"; done
for f in {patterns}; do [ ! -f "$f" ] || stat -c "%a %u %n" "$f"; done"""
    return Probe(script(self="id -u", files=listing))


def authority(expectation: AuthorityExpectation) -> Probe:
    """The root certificate, which is public."""
    return Probe(script(certificate=f"cat {shlex.quote(expectation.file)}"))


def leaving(expectation: LeavingExpectation) -> Probe:
    """The gateway's own checks, by its own interpreter and user; nothing is sent anywhere."""
    words = [GATEWAY_PYTHON, "-B", "-m", "sovctl.gateway", "check", "--config", expectation.config, "--json"]
    return Probe(script(check=shlex.join(["runuser", "-u", GATEWAY_USER, "--", *words])))


def plan(expectation: PlanExpectation) -> Probe:
    """A new plan of the whole site, shown and not saved."""
    words = [expectation.program, "plan", expectation.site_file, "--state", expectation.state, "--no-save", "--json"]
    return Probe(script(plan=shlex.join(words)), timeout_s=600)


def ledger(expectation: LedgerExpectation) -> Probe:
    """The ledger, verified by the command that an auditor would use."""
    words = [
        "env",
        "PYTHONDONTWRITEBYTECODE=1",
        expectation.program,
        "audit",
        "verify",
        "--ledger",
        expectation.directory,
        "--json",
    ]
    return Probe(script(verify=shlex.join(words)), timeout_s=1800)
