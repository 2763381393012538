"""What the gateway looks for beyond what is the same everywhere, as site.yaml has it; a part of `spec`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from .policy import LISTED_LANGUAGES, EntityKind
from .types import Country, FilePath, Language, ModelName, Name, SpecModel, words

NodePath = Annotated[
    str,
    StringConstraints(pattern=r"^/[^\x00-\x1f\x7f]{1,254}$"),
    words("an absolute path such as /var/lib/models/kk-names", kind="path on the node"),
]
"""A file or a folder on the gateway's nodes."""

Sha256 = Annotated[
    str, StringConstraints(pattern=r"^[0-9a-f]{64}$"), words("64 hex digits in lower case", kind="SHA-256")
]
ModelLabel = Annotated[
    str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,60}$"), words("a label of the model such as PER", kind="label")
]


class NameModel(SpecModel):
    """A model of the site's own that finds names. The operator puts it on the gateway's nodes, readable by all."""

    name: Name
    """What audit records call it; its findings have the rule `MODEL_NAME`, in capitals."""
    kind: Literal["spacy", "onnx", "gliner", "stanza"]
    """A folder each: a spaCy or stanza pipeline, a token classifier or a GLiNER model of spans in ONNX. All but spaCy
    need `model_packages`."""
    path: NodePath
    """Where it is; not below /home or /tmp, which the gateway does not see."""
    sha256: Sha256
    """Of a folder, that of its list of files; docs/gateway.md says how to make it. The gateway starts with no other."""
    labels: Annotated[dict[ModelLabel, EntityKind], Field(min_length=1)]
    """What the model calls something, and its kind, such as `{PER: PERSON}`; other labels are left alone. A GLiNER
    model is asked for these very words, such as `{name of a person: PERSON}`."""
    languages: Annotated[list[Language], Field(min_length=1)]
    """It is asked about requests in these, and `name_languages` may name them."""
    min_score: Annotated[float, Field(ge=0, le=1)] | None = None
    """What an ONNX or GLiNER model is less sure of does not count; 0.5 for GLiNER and 0 for ONNX when absent."""
    timeout_s: Annotated[float, Field(gt=0, le=300)] = 5.0
    """Seconds for one request, its wait included; what takes longer stays on-prem."""
    max_queue: Annotated[int, Field(ge=1, le=10_000)] = 16
    """Requests of one worker that wait for it; what comes then stays on-prem."""


class LlmReview(SpecModel):
    """A chat model of one of the pools lists the names in requests that could leave."""

    upstream: Name
    """One of `pools`, of a chat model; never a cloud."""
    model: ModelName | None = None
    """What the pool calls the model that looks; the pool's own when absent."""
    when: Literal["uncertain", "always"] = "uncertain"
    """`uncertain` is when a word could be a name that nobody found."""
    timeout_s: Annotated[float, Field(gt=0, le=300)] = 10.0
    """Seconds for one request; what takes longer stays on-prem."""
    max_chars: Annotated[int, Field(ge=100, le=10_000_000)] = 100_000
    """Characters of one request; a longer one stays on-prem."""
    max_in_flight: Annotated[int, Field(ge=1, le=1000)] = 32
    """Questions of one worker to the pool at a time."""


class ExactDataMatch(SpecModel):
    """The site's own customers, employees and companies, as `sovctl gateway edm build` made them into keyed hashes.

    The list itself never travels; apply lays index and key on the gateway's nodes.
    """

    index_file: FilePath
    """The index, on the controller, relative to site.yaml."""
    key_file: FilePath
    """The key that it was built with, a file with mode 0600, likewise."""


class Detect(SpecModel):
    """What the gateway looks for beyond what is the same everywhere."""

    phone_regions: Annotated[list[Country], Field(max_length=50)] = Field(
        default_factory=lambda: ["AE", "DE", "FR", "GB", "IN", "US"]
    )
    """Countries whose national phone formats are found; numbers that begin with + always are."""
    exact_data_match: ExactDataMatch | None = None
    """Who is found wherever he is named; nobody when absent."""
    models: Annotated[list[NameModel], Field(max_length=16)] = Field(default_factory=list)
    """Models of the site's own that find names."""
    model_packages: NodePath | None = None
    """A folder on the gateway's nodes with the Python packages that models need, as `pip install --target` lays them
    for the nodes' python3. The operator puts it there; it is code that the gateway runs, so only root may write it."""
    llm_review: LlmReview | None = None
    """Who looks for names that nobody found; nobody when absent."""

    @property
    def name_languages(self) -> frozenset[str]:
        """Languages that the site's own models and its list cover."""
        of_models = frozenset(language for model in self.models for language in model.languages)
        return of_models | LISTED_LANGUAGES if self.exact_data_match else of_models
