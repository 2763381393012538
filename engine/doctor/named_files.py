"""Measures the files and variables that site.yaml names: ssh key, host keys, repository key, secrets, certificates.

The problems are those of `sovctl plan`. Every reference belongs to exactly one item.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator

from sovctl.support.errors import Problem

from ..validation.load import FileReference, references
from .item import Finding, done, missing
from .situation import Situation

Selects = Callable[[FileReference], bool]
SSH_KEY, HOST_KEYS, REPOSITORY_KEY = "access.key_file", "access.known_hosts_file", "artifacts.apt_key_file"
_ALONE = (SSH_KEY, HOST_KEYS, REPOSITORY_KEY)

# Pattern of a place in site.yaml: the command or act that provides its file. The first matching row counts.
_REMEDIES = (
    (r"access\.key_file", "ssh-keygen -t ed25519 -N '' -f {path}; then give {path}.pub to the installers of the nodes"),
    (
        r"access\.known_hosts_file",
        "for each node: sovctl bootstrap enrol NODE {site} --fingerprint SHA256:... --witness PERSON --read-at console",
    ),
    (r"artifacts\.apt_key_file", "gpg --armor --export KEY > {path}, with the key that signs the repository"),
    (r"gateway\.clients\[\d+\]\.api_key", "(umask 077; openssl rand -base64 32 > {path}); give it to the client"),
    (r"gateway\.clouds\[\d+\].*ca_file", "get the root certificate of the cloud from its operator, as PEM, in {path}"),
    (r"gateway\.clouds\[\d+\]\.proxy\.password", "get the password from the operator of the proxy; mode 600: {path}"),
    (r"gateway\.clouds\[\d+\]", "get the credential from the operator of the cloud; save it with mode 600: {path}"),
    (r"gateway\.vault\.postgresql\.password", "get the password from the administrator of the database: {path}"),
    (r"gateway\.vault\.kek\[\d+\]", "the security officer writes the PIN of the hardware token, mode 600, to {path}"),
    (r"gateway\.detect\.exact_data_match", "sovctl gateway edm build"),
    (r"gateway\.identity_providers\[\d+\]\.jwks_file", "get the keys of the identity provider (JWKS) in {path}"),
    (r"fabric\.cabling_file", "the network engineer exports the cabling plan to {path}"),
    (r".*ca_file", "get the root certificate of the server from its operator, as PEM, in {path}"),
    (r"", "create {path}"),
)


def measure_ssh_key(situation: Situation) -> Iterator[Finding]:
    """Check the private key of the controller."""
    yield from _measure(situation, lambda each: each.place == SSH_KEY)


def measure_repository_key(situation: Situation) -> Iterator[Finding]:
    """Check the public key of the package repository."""
    yield from _measure(situation, lambda each: each.place == REPOSITORY_KEY)


def measure_secrets(situation: Situation) -> Iterator[Finding]:
    """Check API keys, passwords and PINs."""
    yield from _measure(situation, lambda each: each.is_secret and each.place not in _ALONE)


def measure_other_files(situation: Situation) -> Iterator[Finding]:
    """Check certificates, lists and other public files."""
    yield from _measure(situation, lambda each: not each.is_secret and each.place not in _ALONE)


def measure_host_keys(situation: Situation) -> Iterator[Finding]:
    """Check the file of host keys, and that it has a key of every node."""
    wrong = _wrong(situation, lambda each: each.place == HOST_KEYS)
    if wrong:
        yield from wrong
        return
    from paramiko.hostkeys import HostKeys

    spec = situation.opened.spec
    path = situation.opened.loaded.resolve(spec.access.known_hosts_file)
    try:
        known = HostKeys(str(path))
    except ValueError:
        yield missing(spec.access.known_hosts_file, "not text in the format of known_hosts", "see sshd(8)")
        return
    unknown = []
    for _, node in spec.nodes():
        host = str(node.address) if spec.access.port == 22 else f"[{node.address}]:{spec.access.port}"
        if known.lookup(host) is None:
            unknown.append((node.name, host))
    for name, host in unknown:
        remedy = _remedy(situation, HOST_KEYS).removeprefix("for each node: ").replace(" NODE ", f" {name} ")
        yield missing(f"{name} ({host})", f"no host key in {spec.access.known_hosts_file}", remedy)
    if not unknown:
        yield done(spec.access.known_hosts_file, f"host keys of all {len(spec.nodes())} nodes")


def _measure(situation: Situation, selects: Selects) -> Iterator[Finding]:
    found = [each for each in references(situation.opened.spec) if selects(each)]
    wrong = _wrong(situation, selects)
    yield from wrong
    if not found:
        yield done("site.yaml", "names none")
    elif not wrong:
        names = ", ".join(each.place for each in found[:3])
        yield done(names if len(found) <= 3 else f"{names} and {len(found) - 3} more", "complete")


def _wrong(situation: Situation, selects: Selects) -> list[Finding]:
    return [_finding(situation, *each) for each in situation.file_problems if selects(each[0])]


def _finding(situation: Situation, reference: FileReference, problem: Problem) -> Finding:
    remedy = problem.hint
    if reference.file is not None and not situation.opened.loaded.resolve(reference.file).exists():
        remedy = _remedy(situation, reference.place, _shown(situation, reference))
    return missing(problem.where, problem.message, remedy)


def _shown(situation: Situation, reference: FileReference) -> str:
    """Return the path for a command. A secret that was typed instead of a path has no slash, and is not printed."""
    assert reference.file is not None
    if reference.is_secret and "/" not in reference.file:
        return "FILE"
    return shlex.quote(str(situation.opened.loaded.resolve(reference.file)))


def _remedy(situation: Situation, place: str, path: str = "") -> str:
    text = next(text for pattern, text in _REMEDIES if re.match(pattern, place))
    return text.format(path=path, site=shlex.quote(str(situation.path)))
