"""`sovctl rag ingest`, `reconcile`, `list`, `delete` and `search`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

Collection = Annotated[str, typer.Option("--collection", metavar="NAME", help="Collection of the service.")]
Config = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="Addresses and certificates of service and gateway.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document.")]
GroupsFile = Annotated[
    Path, typer.Option("--groups-file", metavar="FILE", help="Groups of each file or folder: CSV or JSON.")
]
Root = Annotated[
    Path | None,
    typer.Option("--root", metavar="FOLDER", help="Folder to which source ids are relative; default: PATH."),
]
Jobs = Annotated[int, typer.Option("--jobs", metavar="COUNT", help="Documents in work at the same time, 1 to 64.")]
ChunkTokens = Annotated[
    int, typer.Option("--chunk-tokens", metavar="COUNT", help="Estimated tokens of a chunk, 50 to 4000.")
]
Source = Annotated[Path, typer.Argument(metavar="PATH", help="Folder, or one file.")]
DEFAULT = Path("/etc/sovctl/rag.yaml")


def add(rag: typer.Typer, become: Callable[..., NoReturn]) -> None:
    """Add the commands; each ends in `become`."""

    def source(collection: str, groups_file: Path, root: Path | None, jobs: int, tokens: int) -> list[str]:
        given = [f"--collection={collection}", f"--groups-file={groups_file}", f"--jobs={jobs}"]
        return [*given, f"--chunk-tokens={tokens}", *([f"--root={root}"] if root else [])]

    @rag.command("ingest", epilog="Example: sovctl rag ingest handbook --collection handbook --groups-file groups.csv")
    def ingest(
        path: Source,
        collection: Collection,
        groups_file: GroupsFile,
        root: Root = None,
        jobs: Jobs = 2,
        chunk_tokens: ChunkTokens = 500,
        config: Config = DEFAULT,
        json: Json = False,
    ) -> None:
        """Store new and changed documents of a folder. The same command continues after an interruption."""
        become("ingest", config, json, *source(collection, groups_file, root, jobs, chunk_tokens), "--", str(path))

    @rag.command("reconcile", epilog="Example: sovctl rag reconcile handbook --collection handbook --groups-file g.csv")
    def reconcile(
        path: Source,
        collection: Collection,
        groups_file: GroupsFile,
        apply: Annotated[bool, typer.Option("--apply", help="Apply the differences, deletions first.")] = False,
        allow_deletions: Annotated[
            bool, typer.Option("--allow-deletions", help="Allow --apply to delete more than half of the documents.")
        ] = False,
        root: Root = None,
        jobs: Jobs = 2,
        chunk_tokens: ChunkTokens = 500,
        config: Config = DEFAULT,
        json: Json = False,
    ) -> None:
        """Compare a folder and its groups with the service. Exit code 2 if they differ."""
        more = [*(["--apply"] if apply else []), *(["--allow-deletions"] if allow_deletions else [])]
        given = source(collection, groups_file, root, jobs, chunk_tokens)
        become("reconcile", config, json, *given, *more, "--", str(path))

    @rag.command("list", epilog="Example: sovctl rag list --collection handbook --json")
    def list_(collection: Collection, config: Config = DEFAULT, json: Json = False) -> None:
        """List documents with version, chunks and groups. Shows no text."""
        become("list", config, json, f"--collection={collection}")

    @rag.command("delete", epilog="Example: sovctl rag delete board/minutes.pdf --collection handbook")
    def delete(
        source_ids: Annotated[list[str], typer.Argument(metavar="SOURCE...", help="Source ids, as `list` shows them.")],
        collection: Collection,
        config: Config = DEFAULT,
        json: Json = False,
    ) -> None:
        """Delete documents with their chunks. The next search does not find them."""
        become("delete", config, json, f"--collection={collection}", "--", *source_ids)

    @rag.command("search", epilog='Example: sovctl rag search "limit of a lost card" --collection handbook')
    def search(
        query: Annotated[str, typer.Argument(metavar="QUERY", help="Question or words.")],
        collection: Collection,
        results: Annotated[int, typer.Option("--results", metavar="COUNT", help="Maximum results, 1 to 50.")] = 5,
        config: Config = DEFAULT,
        json: Json = False,
    ) -> None:
        """Search through the gateway, with the rights of the client whose key is in the settings."""
        become("search", config, json, f"--collection={collection}", f"--results={results}", "--", query)
