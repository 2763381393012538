"""Settings of a site's own recognizers: patterns, context words, checksum and examples of one kind of identifier."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator

from ...domain.entities import TEXT_TYPES, EntityType
from ..base.model import SettingsModel

RuleName = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{1,60}$")]
"""Capital letters, digits and underscores, a letter first, 2 to 61 characters."""
Expression = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,500}$")]
"""1 to 500 characters, none of them a control character."""
Text = Annotated[str, StringConstraints(min_length=1, max_length=1000)]

ChecksumName = Literal["luhn", "verhoeff", "mod-11", "mod-97-10", "mod-11-10", "mod-11-2", "mod-37-36"]
"""Names of the functions in `gateway/detect/custom/checksums.py`."""


class RecognizerContext(SettingsModel):
    """Words of which one must be near a match."""

    words: Annotated[list[Annotated[str, StringConstraints(min_length=2, max_length=60)]], Field(min_length=1)]
    """Words or phrases in any language, in any letter case. In scripts with capitals they match whole words only. The
    keys of JSON documents and the question before an answer count as text before the value."""
    within: Annotated[int, Field(ge=1, le=200)] = 60
    """Maximum distance from the match, in characters."""
    side: Literal["before", "after", "either"] = "either"
    """Side of the match on which the word must be."""


class RecognizerExamples(SettingsModel):
    """Texts with which a recognizer is checked when the settings are loaded."""

    match: Annotated[list[Text], Field(min_length=1, max_length=100)]
    """Texts that contain the identifier, with its context words."""
    no_match: Annotated[list[Text], Field(max_length=100)] = Field(default_factory=list)
    """Texts in which the recognizer must not find anything."""


class RecognizerSettings(SettingsModel):
    """A site's own recognizer."""

    name: RuleName
    """Name of the rule in policy rows (`CUSTOM/CUSTOMER_NUMBER`), audit records and `explain`; not the name of a
    built-in rule."""
    entity_type: EntityType = EntityType.CUSTOM
    """Entity type of its findings, which policy and tokens use."""
    patterns: Annotated[list[Expression], Field(min_length=1, max_length=20)]
    """Regular expressions in the dialect of Hyperscan: no look-around, no back-references, no unlimited repetition. A
    match has 3 to 256 bytes. They are searched for everywhere, without `^` and `$`."""
    case_sensitive: bool = False
    """Whether upper and lower case differ."""
    whole_words: bool = True
    """Whether a match next to a letter or digit of ASCII is ignored."""
    context: RecognizerContext | None = None
    """Words of which one must be near a match. Default: none are required."""
    checksum: ChecksumName | None = None
    """Check digits that a match must have, computed without separators. Default: none."""
    score: Annotated[float, Field(gt=0, le=1)] = 0.9
    """Precedence over findings of the same length; 1 is that of valid checksums."""
    examples: RecognizerExamples
    """Texts that must match and that must not. A recognizer that fails its examples is an error."""

    @field_validator("entity_type")
    @classmethod
    def _check_entity_type(cls, entity_type: EntityType) -> EntityType:
        if entity_type not in TEXT_TYPES:
            raise ValueError(f"expected a type of identifiers, got {entity_type.value}")
        return entity_type


class RecognizerFile(SettingsModel):
    """A file with recognizers."""

    recognizers: Annotated[list[RecognizerSettings], Field(min_length=1, max_length=200)]
    """Recognizers, as under `detect.recognizers`."""


RecognizerPaths = Annotated[list[Path], Field(max_length=20)]
