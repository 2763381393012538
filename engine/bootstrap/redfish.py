"""Redfish of a management controller: status, virtual media, boot from them once, power.

The library is `redfish` of DMTF (extra `redfish`). Rules:

- TLS: the certificate of the controller is pinned by its SHA-256; a controller has no name that an authority certifies.
- A request is sent once, because a repeated power action has another effect.
- No proxy of the environment is used.

Source: DMTF DSP0266 1.22 (protocol), DSP2046 2026.1 (ComputerSystem, Manager, VirtualMedia).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Any

from sovctl.support.errors import InputError, MissingTool, NodeUnreachable, SovctlError
from sovctl.support.secret_files import read_secret

from .bmc_settings import Bmc

RECORD_TYPE = "bmc-action"
TIMEOUT_S = 30
_ROOT = "/redfish/v1/"
_PATH = re.compile(r"/redfish/v1/[A-Za-z0-9._~%/:-]*")


class Power(StrEnum):
    """Power action: `ResetType` of ComputerSystem.Reset."""

    ON = "On"
    OFF = "GracefulShutdown"
    FORCE_OFF = "ForceOff"
    RESTART = "GracefulRestart"
    FORCE_RESTART = "ForceRestart"


class Redfish:
    """An open session.

    Args:
        client: of the library `redfish`.
        where: the controller, for messages.
        system: id of the computer system; None for the only one.
    """

    def __init__(self, client: Any, where: str, system: str | None) -> None:
        self._client, self._where, self._system = client, where, system

    def status(self) -> dict[str, Any]:
        """Return power, health, boot source and virtual media, as plain values; None if the controller omits one."""
        system = self._get(self._system_path())
        boot = system.get("Boot") or {}
        return {
            "model": system.get("Model"),
            "serial": system.get("SerialNumber"),
            "power": system.get("PowerState"),
            "health": (system.get("Status") or {}).get("Health"),
            "boot_source": boot.get("BootSourceOverrideTarget"),
            "boot_enabled": boot.get("BootSourceOverrideEnabled"),
            "media": [{"image": each.get("Image"), "inserted": each.get("Inserted")} for _, each in self._media()],
        }

    def insert_media(self, image: str) -> None:
        """Insert an image into the virtual CD drive.

        Args:
            image: URL that the controller can reach.

        Raises:
            SovctlError: no drive, or another image is inserted.
        """
        path, drive = self._cd()
        if not image.startswith(("https://", "http://")):
            raise InputError("expected an http or https URL", where="URL")
        if drive.get("Inserted") and drive.get("Image") != image:
            raise SovctlError(
                "another image is inserted", where=self._where, hint="sovctl bootstrap redfish eject-media"
            )
        if not drive.get("Inserted"):
            self._act(path, drive, "#VirtualMedia.InsertMedia", {"Image": image, "Inserted": True})

    def eject_media(self) -> None:
        """Eject the image of the virtual CD drive, if any."""
        path, drive = self._cd()
        if drive.get("Inserted"):
            self._act(path, drive, "#VirtualMedia.EjectMedia", {})

    def boot_once(self) -> None:
        """Boot from the virtual CD drive at the next start only.

        Raises:
            SovctlError: the controller did not store it.
        """
        path = self._system_path()
        wanted = {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}
        self._checked(self._client.patch(path, body={"Boot": wanted}, headers=self._match(path)), path)
        boot = self._get(path).get("Boot") or {}
        if {name: boot.get(name) for name in wanted} != wanted:
            got = f"{boot.get('BootSourceOverrideTarget')}, {boot.get('BootSourceOverrideEnabled')}"
            hint = "a permanent boot from the drive installs the node again at each start; correct it at the console"
            raise SovctlError(f"expected the boot source Cd, Once, got {got}", where=self._where, hint=hint)

    def power(self, action: Power) -> None:
        """Send a power action.

        Raises:
            SovctlError: the controller does not support it.
        """
        path = self._system_path()
        self._act(path, self._get(path), "#ComputerSystem.Reset", {"ResetType": action.value})

    def _system_path(self) -> str:
        members = self._members(f"{_ROOT}Systems")
        if self._system is not None:
            members = [path for path in members if path.rstrip("/").rpartition("/")[2] == self._system]
        if len(members) != 1:
            raise SovctlError(
                f"expected one computer system, got {len(members)}", where=self._where, hint="set `system` of the node"
            )
        return members[0]

    def _media(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the virtual drives for CD or DVD, with their paths."""
        owners = [*self._members(f"{_ROOT}Managers"), self._system_path()]
        links = [(self._get(owner).get("VirtualMedia") or {}).get("@odata.id") for owner in owners]
        for link in dict.fromkeys(filter(None, links)):  # a manager and its system may have the same drives
            for path in self._members(link):
                drive = self._get(path)
                if {"CD", "DVD"} & set(drive.get("MediaTypes") or []):
                    yield path, drive

    def _cd(self) -> tuple[str, Mapping[str, Any]]:
        for found in self._media():
            return found
        raise SovctlError("the controller has no virtual CD drive", where=self._where, hint="check its licence")

    def _act(self, path: str, resource: Mapping[str, Any], action: str, values: Mapping[str, Any]) -> None:
        target = ((resource.get("Actions") or {}).get(action) or {}).get("target")
        if target is None:
            raise SovctlError(f"the controller has no action {action[1:]}", where=self._where)
        self._checked(self._client.post(self._path(target), body=dict(values)), path)

    def _members(self, path: str) -> list[str]:
        return [self._path(each.get("@odata.id")) for each in self._get(self._path(path)).get("Members") or []]

    def _match(self, path: str) -> dict[str, str]:
        """Return the header with the version of a resource, if it has one (DSP0266, 6.5)."""
        tag = self._checked(self._client.get(path), path).getheader("ETag")
        return {"If-Match": tag} if tag else {}

    def _get(self, path: str) -> Mapping[str, Any]:
        found = self._checked(self._client.get(path), path).dict
        if not isinstance(found, dict):
            raise SovctlError("expected a JSON object", where=f"{self._where}{path}")
        return found

    def _path(self, link: object) -> str:
        if not isinstance(link, str) or not _PATH.fullmatch(link):
            raise SovctlError("the controller refers to a path outside of Redfish", where=self._where)
        return link

    def _checked(self, response: Any, path: str) -> Any:
        if response.status not in range(200, 300):
            raise SovctlError(f"HTTP status {response.status}", where=f"{self._where}{path}")
        return response


@contextmanager
def session(bmc: Bmc, folder: Path) -> Iterator[Redfish]:
    """Log in to a controller, and log out at the end.

    Args:
        folder: base of `password_file`.

    Raises:
        MissingTool: the library is absent.
        InputError: the password file is unusable, or the login is refused.
        NodeUnreachable: no answer, or another certificate.
    """
    try:
        import redfish
        from redfish.rest.v1 import (
            BadRequestError,
            InvalidCredentialsError,
            RetriesExhaustedError,
            ServerDownOrUnreachableError,
            SessionCreationError,
        )

        from .pinned_tls import PinnedAdapter
    except ImportError:
        hint = "install sovctl with the extra redfish: sovctl[redfish]"
        raise MissingTool("expected the package redfish, got none", hint=hint) from None
    password, where = read_secret(folder / bmc.password_file), f"https://{bmc.address}:{bmc.port}"
    try:
        client = redfish.redfish_client(
            where, bmc.username, password, timeout=TIMEOUT_S, max_retry=0, proxies={"no_proxy": "*"},
            check_connectivity=False, https_adapter=PinnedAdapter(bmc.certificate_sha256),
        )  # fmt: skip
        client.get_root_object()
        # DSP0266, 13.3: a service supports both; some emulators have no sessions.
        has_sessions = "SessionService" in client.root
        client.login(auth=redfish.AuthMethod.SESSION if has_sessions else redfish.AuthMethod.BASIC)
    except (InvalidCredentialsError, SessionCreationError):
        raise InputError("the controller refuses the login", where=where, hint="check username and password") from None
    except (RetriesExhaustedError, ServerDownOrUnreachableError) as error:
        raise _unreachable(where, error) from None
    try:
        yield Redfish(client, where, bmc.system)
    except RetriesExhaustedError as error:
        raise _unreachable(where, error) from None
    finally:
        with suppress(BadRequestError, RetriesExhaustedError):  # the session expires by itself
            client.logout()


def _unreachable(where: str, error: BaseException) -> NodeUnreachable:
    if "fingerprint" in str(error.__cause__).lower():
        hint = "read the certificate at the console; another machine may answer at this address"
        return NodeUnreachable("its TLS certificate is not the expected one", where=where, hint=hint)
    return NodeUnreachable("no answer", where=where, hint="check address, port and network of the controller")
