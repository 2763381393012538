"""Section `retrieval`: documents with permissions, which the gateway searches for its callers."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Annotated

from pydantic import Field

from .host import NodePath
from .types import Name, Port, SpecModel

ADMINISTRATOR = "retrieval-admin"
"""Common name of the certificate that may write documents. It is on the controller, and no node may have its name."""
DATA = "/var/lib/sovctl/retrieval"


class Collection(SpecModel):
    """Documents that are searched together. Each has groups of its own, which may read it."""

    name: Name
    """Unique name; the id of the vector store in requests of clients."""


class Retrieval(SpecModel):
    """Retrieval service with PostgreSQL and pgvector on one node. The database returns only what the groups of a
    caller may read. PostgreSQL has no network: it listens on a Unix socket of its node."""

    node: Name
    """Name of the node."""
    port: Port = 8446
    """TCP port of the service, with mutual TLS."""
    embedding_pool: Name
    """Pool with an embedding model. Its `max_model_len` limits the length of a chunk."""
    rerank_pool: Name | None = None
    """Pool with a reranker. Default: none."""
    collections: Annotated[list[Collection], Field(min_length=1, max_length=64)]
    """Collections of documents."""
    administrators: list[IPv4Network] = Field(default_factory=list)
    """Networks from which administrators with their certificate may add and delete documents. Default:
    `perimeter.management`."""
    data: NodePath = DATA
    """Folder of the database on the node, at or below an encrypted file system of `host.mounts`; in a lab anywhere."""
    shared_buffers_mib: Annotated[int, Field(ge=128, le=1_048_576)] = 1024
    """Memory of PostgreSQL for pages, MiB. The default is a guess; the documentation of PostgreSQL 15, 20.4.1, names a
    quarter of the memory of a node that serves nothing else."""
    maintenance_work_mem_mib: Annotated[int, Field(ge=64, le=1_048_576)] = 1024
    """Memory for building an index of vectors, MiB. A larger graph of HNSW is built slowly from disk. The default is a
    guess."""
    exact_below_rows: Annotated[int, Field(ge=0, le=1_000_000)] = 20_000
    """Chunks visible to a caller below which a search compares all of them, instead of the approximate index. With
    20 000 of 200 000 rows the index found 41 % of the nearest rows (measured 2026-11-23)."""
