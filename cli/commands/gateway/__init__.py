"""`sovctl gateway`: init, serve, check, explain, keys, vault, edm.

The gateway is a program of its own (`python -m sovctl.gateway`), and this process becomes it: nothing of it is
imported here, so that a laptop that only plans needs none of its dependencies.
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
from . import vault as gateway_vault

# What the gateway's extra brings, by the names under which Python imports it.
_NEEDED = ("aiohttp", "httptools", "orjson", "presidio_analyzer", "starlette", "uvicorn", "uvloop")

Config = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="The gateway's settings, as `sovctl apply` writes them.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document.")]
_DEFAULT = Path("/etc/sovctl/gateway.yaml")

gateway = typer.Typer(
    name="gateway",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The tokenizing gateway between your clients, your pools and a sovereign cloud.",
    epilog="Example: sovctl gateway check --config /etc/sovctl/gateway.yaml",
)


@gateway.command("serve", epilog="Example: sovctl gateway serve --config /etc/sovctl/gateway.yaml")
def serve(config: Config = _DEFAULT) -> None:
    """Serve until stopped; SIGTERM lets running answers finish."""
    _become("serve", "--config", str(config))


@gateway.command(
    "init",
    epilog="Example: sovctl gateway init my-gateway --cloud https://api.example.com/v1 --cloud-model big "
    "--cloud-key-file cloud.key",
)
def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Made; it must not hold a gateway yet.")],
    cloud: Annotated[str | None, typer.Option(metavar="URL", help="What sees tokens only; ends in /v1.")] = None,
    cloud_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the cloud calls the model; as --serve-as when absent.")
    ] = None,
    cloud_key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Our API key there, a file with mode 0600.")
    ] = None,
    pool: Annotated[
        str | None, typer.Option(metavar="URL", help="A model server of your own, which may see raw text.")
    ] = None,
    pool_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the pool calls the model; as --serve-as when absent.")
    ] = None,
    serve_as: Annotated[str, typer.Option(metavar="NAME", help="The model name clients ask for.")] = "assistant",
    languages: Annotated[str, typer.Option(metavar="LIST", help="Languages that may leave, such as en,de.")] = "en",
    surfaces: Annotated[
        str, typer.Option(metavar="LIST", help="APIs that cloud and pool serve, such as chat.completions,responses.")
    ] = "chat.completions",
    port: Annotated[int, typer.Option(help="Where it listens, on 127.0.0.1.")] = 8443,
) -> None:
    """Make a gateway on this machine. Settings, keys and one client; without a site around it."""
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
    _become("init", *(f"{name}={value}" for name, value in given.items() if value is not None), "--", str(folder))


@gateway.command("check", epilog="Example: sovctl gateway check --config gateway.yaml --json")
def check(config: Config = _DEFAULT, json: Json = False) -> None:
    """Try settings, keys, detector, vault and ledger. Says what works; contacts no upstream."""
    _become("check", "--config", str(config), *(["--json"] if json else []))


@gateway.command("explain", epilog="Example: sovctl gateway explain request.json --client branch")
def explain(
    request: Annotated[
        Path, typer.Argument(metavar="REQUEST.json", help="A request, as a client would send it; - for standard input.")
    ],
    client: Annotated[str, typer.Option(metavar="NAME", help="Whose request it is; anyone's when absent.")] = "",
    path: Annotated[str, typer.Option(metavar="PATH", help="Where it would be sent.")] = "/v1/chat/completions",
    config: Config = _DEFAULT,
    json: Json = False,
) -> None:
    """Say where a request would go, and why. Nothing is sent or stored."""
    whose = [f"--client={client}"] if client else []
    more = ["--json"] if json else []
    _become("explain", f"--config={config}", f"--path={path}", *whose, *more, "--", str(request))


def _become(*arguments: str) -> NoReturn:
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingTool(
            f"expected the gateway's dependencies, got no {', '.join(missing)}", hint="pip install 'sovctl[gateway]'"
        )
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-P", "-m", "sovctl.gateway", *arguments])


def register(app: typer.Typer) -> None:
    """Add the word to `sovctl`."""
    gateway.add_typer(gateway_keys.make(_become, _DEFAULT))
    gateway.add_typer(gateway_vault.make(_become, _DEFAULT))
    gateway.add_typer(gateway_edm.make(_become))
    app.add_typer(gateway)
