"""`sovctl export`: manifests of a site for Kubernetes or Ray."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import output

if TYPE_CHECKING:
    from sovctl.engine.export.source import Target

EPILOG = "Example: sovctl export {target} site.yaml --to {target} --images images.yaml"

Site = Annotated[Path, typer.Argument(help="Path of site.yaml.")]
To = Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Folder of the manifests; an export is replaced.")]
Images = Annotated[Path, typer.Option(help="YAML file with the image of each component, by digest.")]
Lock = Annotated[Path | None, typer.Option(help="Folder of the site's lock, whose digest README.txt states.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print a summary as one JSON document.")]


def register(app: typer.Typer) -> None:
    """Add the commands to `sovctl`."""
    group = typer.Typer(
        no_args_is_help=True,
        help="Write manifests of a site for a cluster. They are validated by schema; no cluster has run them.",
        epilog=EPILOG.format(target="kubernetes"),
    )
    app.add_typer(group, name="export")
    group.command(epilog=EPILOG.format(target="kubernetes"))(kubernetes)
    group.command(epilog=EPILOG.format(target="ray"))(ray)


def complete_serving(incomplete: str) -> list[str]:
    """Return the forms of a pool that begin with the typed text."""
    from sovctl.engine.export.source import Serving

    return [each.value for each in Serving if each.value.startswith(incomplete)]


def kubernetes(
    to: To,
    images: Images,
    site: Site = Path("site.yaml"),
    serving: Annotated[
        str,
        typer.Option(
            help="Pools on single nodes: `lws` (Deployment), or `kserve` (LLMInferenceService).",
            autocompletion=complete_serving,
        ),
    ] = "lws",
    lock: Lock = None,
    as_json: AsJson = False,
) -> None:
    """Write a kustomize folder: namespaces, network policies, servers, autoscalers, gateway and operator policies."""
    from sovctl.engine.export.source import Target

    _export(Target.KUBERNETES, site, to, images, serving, lock, as_json=as_json)


def ray(to: To, images: Images, site: Site = Path("site.yaml"), lock: Lock = None, as_json: AsJson = False) -> None:
    """Write a kustomize folder with a RayService: token authentication, TLS, and no usage statistics."""
    from sovctl.engine.export.source import Target

    _export(Target.RAY, site, to, images, "lws", lock, as_json=as_json)


def _export(
    target: Target, site: Path, to: Path, images: Path, serving: str, lock: Path | None, *, as_json: bool
) -> None:
    from sovctl.engine.export.export import STATUS
    from sovctl.engine.export.folder import write_folder
    from sovctl.engine.export.read import read_source, rendered

    source = read_source(target, site, images, serving=serving, lock=lock)
    files, omitted = rendered(target, source)
    write_folder(to, files)
    if as_json:
        output.document({"folder": str(to), "files": sorted(files), "not_exported": omitted, "status": STATUS})
        return
    output.line(f"written  {to}: {len(files)} files")
    output.line(f"{STATUS} {len(omitted)} parts of site.yaml are in not-exported.md.")
