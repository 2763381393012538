"""`sovctl gateway`: init, serve, check, explain, keys, vault, servers, edm.

The gateway is a separate program (`python -m sovctl.gateway`); this process is replaced by it (execv). No module of the
gateway is imported here, so a machine that only plans does not need its dependencies.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from sovctl.support.errors import MissingTool

from . import edm as gateway_edm
from . import keys as gateway_keys
from . import servers as gateway_servers
from . import vault as gateway_vault

# Import names of the packages of the extra `gateway`.
_NEEDED = ("aiohttp", "httptools", "orjson", "presidio_analyzer", "starlette", "uvicorn", "uvloop")

Config = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="Settings file of the gateway, written by `sovctl apply`.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document.")]
_DEFAULT = Path("/etc/sovctl/gateway.yaml")

gateway = typer.Typer(
    name="gateway",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Run and inspect the gateway between clients, pools and a cloud.",
    epilog="Example: sovctl gateway check --config /etc/sovctl/gateway.yaml",
)


@gateway.command("serve", epilog="Example: sovctl gateway serve --config /etc/sovctl/gateway.yaml")
def serve(config: Config = _DEFAULT) -> None:
    """Run the gateway until it is stopped. SIGTERM lets running answers finish."""
    become("serve", "--config", str(config))


@gateway.command(
    "init",
    epilog="Example: sovctl gateway init my-gateway --cloud https://api.example.com/v1 --cloud-model big "
    "--cloud-key-file cloud.key",
)
def init(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder of the new gateway; created, must not contain one.")
    ],
    cloud: Annotated[
        str | None, typer.Option(metavar="URL", help="Base URL of a cloud, which receives tokens only; ends in /v1.")
    ] = None,
    cloud_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Model name at the cloud; default: --serve-as.")
    ] = None,
    cloud_key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with the API key of the cloud, mode 0600.")
    ] = None,
    pool: Annotated[
        str | None, typer.Option(metavar="URL", help="Base URL of a local model server, which receives the raw text.")
    ] = None,
    pool_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Model name at the pool; default: --serve-as.")
    ] = None,
    serve_as: Annotated[str, typer.Option(metavar="NAME", help="Model name that clients request.")] = "assistant",
    languages: Annotated[
        str, typer.Option(metavar="LIST", help="Languages of texts that may be sent to the cloud, such as en,de.")
    ] = "en",
    surfaces: Annotated[
        str, typer.Option(metavar="LIST", help="APIs that cloud and pool serve, such as chat.completions,responses.")
    ] = "chat.completions",
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1.")] = 8443,
) -> None:
    """Create a gateway without a site: settings, keys and one client."""
    given = {
        "--cloud": cloud,
        "--cloud-model": cloud_model,
        "--cloud-key-file": cloud_key_file,
        "--pool": pool,
        "--pool-model": pool_model,
        "--serve-as": serve_as,
        "--languages": languages,
        "--surfaces": surfaces,
        "--port": port,
    }
    become("init", *(f"{name}={value}" for name, value in given.items() if value is not None), "--", str(folder))


@gateway.command("check", epilog="Example: sovctl gateway check --config gateway.yaml --json")
def check(config: Config = _DEFAULT, json: Json = False) -> None:
    """Check settings, keys, detector, vault and ledger. Does not contact upstreams."""
    become("check", "--config", str(config), *(["--json"] if json else []))


@gateway.command("explain", epilog="Example: sovctl gateway explain request.json --client branch")
def explain(
    request: Annotated[
        Path, typer.Argument(metavar="REQUEST.json", help="File with the body of a request; - for standard input.")
    ],
    client: Annotated[str, typer.Option(metavar="NAME", help="Client that sends the request; default: none.")] = "",
    path: Annotated[str, typer.Option(metavar="PATH", help="URL path of the request.")] = "/v1/chat/completions",
    config: Config = _DEFAULT,
    json: Json = False,
) -> None:
    """Show to which upstream a request would be sent, and why. Sends and stores nothing."""
    whose = [f"--client={client}"] if client else []
    more = ["--json"] if json else []
    become("explain", f"--config={config}", f"--path={path}", *whose, *more, "--", str(request))


def become(*arguments: str) -> NoReturn:
    """Replace this process by `python -m sovctl.gateway` with these arguments.

    Raises:
        MissingTool: packages of the extra `gateway` are missing.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingTool(f"missing Python packages: {', '.join(missing)}", hint="pip install 'sovctl[gateway]'")
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-P", "-m", "sovctl.gateway", *arguments])


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    gateway.add_typer(gateway_keys.make(become, _DEFAULT))
    gateway.add_typer(gateway_vault.make(become, _DEFAULT))
    gateway.add_typer(gateway_servers.make(become, _DEFAULT))
    gateway.add_typer(gateway_edm.make(become))
    app.add_typer(gateway)
