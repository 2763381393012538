"""`gateway.detect` of site.yaml: site-specific detection, in addition to the built-in detection."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from ..types import Country, FilePath, Language, ModelName, Name, SpecModel, words
from .policy import LISTED_LANGUAGES, IdentifierKind

NodePath = Annotated[
    str,
    StringConstraints(pattern=r"^/[^\x00-\x1f\x7f]{1,254}$"),
    words("an absolute path such as /var/lib/models/kk-names", kind="path on the node"),
]
"""Path of a file or folder on the gateway nodes."""

Sha256 = Annotated[
    str, StringConstraints(pattern=r"^[0-9a-f]{64}$"), words("64 hex digits in lower case", kind="SHA-256")
]
ModelLabel = Annotated[
    str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,60}$"), words("a label of the model such as PER", kind="label")
]


RuleName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{1,60}$"),
    words("capital letters, digits and underscores, such as CUSTOMER_NUMBER", kind="rule name"),
]
Expression = Annotated[
    str,
    StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,500}$"),
    words("a regular expression such as K-[0-9]{6,8}", kind="regular expression"),
]
ContextWord = Annotated[str, StringConstraints(min_length=2, max_length=60)]
ExampleText = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
_Checksum = Literal["luhn", "verhoeff", "mod-11", "mod-97-10", "mod-11-10", "mod-11-2", "mod-37-36"]


class RecognizerContext(SpecModel):
    """Words of which one must be near a match."""

    words: Annotated[list[ContextWord], Field(min_length=1)]
    """Words or phrases in any language, in any letter case; keys of JSON documents count as text before the value."""
    within: Annotated[int, Field(ge=1, le=200)] = 60
    """Maximum distance from the match, in characters."""
    side: Literal["before", "after", "either"] = "either"
    """Side of the match on which the word must be."""


class RecognizerExamples(SpecModel):
    """Texts with which a recognizer is checked when the gateway loads its settings."""

    match: Annotated[list[ExampleText], Field(min_length=1, max_length=100)]
    """Texts that contain the identifier, with its context words."""
    no_match: Annotated[list[ExampleText], Field(max_length=100)] = Field(default_factory=list)
    """Texts in which the recognizer must not find anything."""


class Recognizer(SpecModel):
    """A site-specific recognizer. `apply` checks it on the node before the gateway uses it."""

    name: RuleName
    """Name of the rule in policy rows (`CUSTOM/CUSTOMER_NUMBER`) and audit records."""
    entity_type: IdentifierKind = "CUSTOM"
    """Entity type of its findings."""
    patterns: Annotated[list[Expression], Field(min_length=1, max_length=20)]
    """Regular expressions of 3 to 256 bytes in the dialect of Hyperscan; see docs/gateway.md."""
    case_sensitive: bool = False
    """Whether upper and lower case differ."""
    whole_words: bool = True
    """Whether a match next to a letter or digit of ASCII is ignored."""
    context: RecognizerContext | None = None
    """Words of which one must be near a match. Default: none are required."""
    checksum: _Checksum | None = None
    """Check digits that a match must have. Default: none."""
    score: Annotated[float, Field(gt=0, le=1)] = 0.9
    """Precedence over findings of the same length; 1 is that of valid checksums."""
    examples: RecognizerExamples
    """Texts that must match and that must not."""


class NameModel(SpecModel):
    """A site-specific model that finds names. The operator installs it on the gateway nodes, readable by all users."""

    name: Name
    """Name in audit records; its findings have the rule `MODEL_NAME`, in capitals."""
    kind: Literal["spacy", "onnx", "gliner", "stanza"]
    """Type of the model folder: a spaCy or stanza pipeline, an ONNX token classifier, or a GLiNER span model in ONNX.
    All but spaCy need `model_packages`."""
    path: NodePath
    """Path of the model; not below /home or /tmp, which the gateway service cannot access."""
    sha256: Sha256
    """SHA-256 of the model; for a folder, of its list of files (see docs/gateway.md). The gateway starts only if it
    matches."""
    labels: Annotated[dict[ModelLabel, IdentifierKind], Field(min_length=1)]
    """Entity type by label of the model, such as `{PER: PERSON}`; other labels are ignored. For GLiNER, the label is
    the prompt, such as `{name of a person: PERSON}`."""
    languages: Annotated[list[Language], Field(min_length=1)]
    """Languages of requests that the model scans; `policy.name_languages` may contain them."""
    min_score: Annotated[float, Field(ge=0, le=1)] | None = None
    """Minimum score of findings of an ONNX or GLiNER model. Default: 0.5 for GLiNER, 0 for ONNX."""
    timeout_s: Annotated[float, Field(gt=0, le=300)] = 5.0
    """Seconds for one request, including queueing. After the timeout, the request is processed on-prem."""
    max_queue: Annotated[int, Field(ge=1, le=10_000)] = 16
    """Maximum queued requests per worker; further requests are processed on-prem."""


ScreenedText = Literal["user", "tool", "document", "system", "assistant"]
ScreenAction = Literal["allow", "stay", "block"]
ScreenLabel = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$"),
    words("a label of the model such as INJECTION", kind="label of a screen"),
]


def _usual_texts() -> list[ScreenedText]:
    return ["user", "tool", "document"]


class Screen(SpecModel):
    """A local model that classifies texts of requests, for example as prompt injections.

    The operator installs it on the gateway nodes, readable by all users.
    """

    name: Name
    """Name in audit records, metrics and reasons."""
    kind: Literal["onnx"]
    """Type of the model folder: an ONNX sequence classifier. It needs `model_packages`."""
    path: NodePath
    """Path of the folder; not below /home or /tmp, which the gateway service cannot access."""
    sha256: Sha256
    """SHA-256 of the folder's list of files (see docs/gateway.md). The gateway starts only if it matches."""
    labels: Annotated[dict[ScreenLabel, Annotated[float, Field(gt=0, le=1)]], Field(min_length=1, max_length=50)]
    """Minimum score by label that flags a text, such as `{INJECTION: 0.9}`; other labels are ignored."""
    texts: Annotated[list[ScreenedText], Field(min_length=1)] = Field(default_factory=_usual_texts)
    """Texts that the screen reads, by the role of their author."""
    action: ScreenAction = "stay"
    """Action for flagged requests: `allow` records only, `stay` processes them on-prem, `block` rejects them."""
    routes: dict[ModelName, ScreenAction] = Field(default_factory=dict)
    """Actions by route, instead of `action`."""
    timeout_s: Annotated[float, Field(gt=0, le=300)] = 5.0
    """Seconds for one request, including queueing. A screen that times out counts as one that flags the request."""
    max_queue: Annotated[int, Field(ge=1, le=10_000)] = 16
    """Maximum queued requests per worker; for further ones the screen counts as failed."""


class LlmReview(SpecModel):
    """A chat model in one of the pools lists the names in requests that could be sent to a cloud."""

    upstream: Name
    """Pool with a chat model; clouds are not allowed."""
    model: ModelName | None = None
    """Model name in the pool. Default: the pool's model."""
    when: Literal["uncertain", "always"] = "uncertain"
    """`uncertain`: only requests with a word that could be an undetected name."""
    timeout_s: Annotated[float, Field(gt=0, le=300)] = 10.0
    """Seconds for one request. After the timeout, the request is processed on-prem."""
    max_chars: Annotated[int, Field(ge=100, le=10_000_000)] = 100_000
    """Maximum characters of a request; longer requests are processed on-prem."""
    max_in_flight: Annotated[int, Field(ge=1, le=1000)] = 32
    """Concurrent reviews per worker."""


class ExactDataMatch(SpecModel):
    """Index of customers, employees and companies as keyed hashes, built by `sovctl gateway edm build`.

    `apply` copies index and key to the gateway nodes. The list itself is not copied.
    """

    index_file: FilePath
    """Index file, on the controller, relative to site.yaml."""
    key_file: FilePath
    """Key of the index, a file with mode 0600, on the controller, relative to site.yaml."""


class Detect(SpecModel):
    """Site-specific detection, in addition to the built-in detection."""

    phone_regions: Annotated[list[Country], Field(max_length=50)] = Field(
        default_factory=lambda: ["AE", "DE", "FR", "GB", "IN", "US"]
    )
    """Countries whose national phone formats are detected; numbers that begin with + are always detected."""
    exact_data_match: ExactDataMatch | None = None
    """Index of known people and companies, which are found by exact match. Default: none."""
    recognizers: Annotated[list[Recognizer], Field(max_length=200)] = Field(default_factory=list)
    """Site-specific recognizers: patterns, context words and checksums."""
    recognizer_files: Annotated[list[FilePath], Field(max_length=20)] = Field(default_factory=list)
    """YAML files with further recognizers under the key `recognizers`, on the controller, relative to site.yaml.
    `apply` copies them to the gateway nodes."""
    models: Annotated[list[NameModel], Field(max_length=16)] = Field(default_factory=list)
    """Site-specific models that find names."""
    screens: Annotated[list[Screen], Field(max_length=16)] = Field(default_factory=list)
    """Local models that classify texts of requests. Default: none."""
    model_packages: NodePath | None = None
    """Folder on the gateway nodes with the Python packages that models need, from `pip install --target` with the
    nodes' python3. The operator installs it. Only root may write it, because the gateway executes its code."""
    llm_review: LlmReview | None = None
    """Review of requests by a chat model. Default: none."""

    @property
    def name_languages(self) -> frozenset[str]:
        """Languages of the site's models and of its index, ISO 639-1."""
        of_models = frozenset(language for model in self.models for language in model.languages)
        return of_models | LISTED_LANGUAGES if self.exact_data_match else of_models
