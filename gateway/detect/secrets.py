"""Keys, tokens and passwords: forms that their issuers publish, and what stands behind `password =`.

A secret is never ordinary text, so each pattern is specific enough to be believed alone. Forms are the issuers' own
documented prefixes (GitHub 2021-04, GitLab "Token prefixes", AWS IAM identifiers, RFC 7519, RFC 7468, ...).
"""

from __future__ import annotations

import re

# Case matters in every one of these; the beginning is cheap to look for and rare in prose.
_ISSUED = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"  # AWS access key id
    r"|gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}"
    r"|glpat-[A-Za-z0-9_.-]{20,255}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,255}"  # Slack
    r"|sk-(?:ant-|proj-|svcacct-|or-v1-)?[A-Za-z0-9_-]{20,255}"  # OpenAI, Anthropic, OpenRouter
    r"|[rs]k_(?:live|test)_[A-Za-z0-9]{16,255}"  # Stripe
    r"|hf_[A-Za-z0-9]{30,255}|nvapi-[A-Za-z0-9_-]{40,255}|pypi-[A-Za-z0-9_-]{50,255}|npm_[A-Za-z0-9]{36}"
    r"|AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,255}"  # Google
    r"|SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}"  # SendGrid
    r"|hvs\.[A-Za-z0-9_-]{24,255}"  # Vault
    r"|eyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{0,4096}"  # JWT
    r")(?![A-Za-z0-9])"
)
_PEM = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY-----[^-]{0,16384}"
    r"(?:-----END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY-----)?"
)
_NAMED = re.compile(
    r"(?:pass(?:word|wd|phrase)?|pwd|secret|api[_-]?key|access[_-]?key|auth[_-]?token|client[_-]?secret|private[_-]?key)"
    r"[\"']?\s{0,3}(?:[:=]|=>|\bis\b)\s{0,3}[\"']?(?P<secret>[^\s\"',;<>]{6,256})",
    re.IGNORECASE,
)
_BEARER = re.compile(
    r"\b(?:Bearer|Basic|token)\s+(?P<secret>[A-Za-z0-9_\-.~+/=]{19,4096}[A-Za-z0-9_=/+-])", re.IGNORECASE
)
_IN_URL = re.compile(r"://[^\s/:@]{1,64}:(?P<secret>[^\s/:@]{3,256})@")

# One of these stands in every secret above, in this case or, for the second row, in any; a text without one is done.
_HINTS = (
    *("AKIA", "ASIA", "ABIA", "ACCA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "sk-"),
    *("_live_", "_test_", "hf_", "nvapi-", "pypi-", "npm_", "AIza", "ya29.", "SG.", "hvs.", "eyJ", "PRIVATE KEY"),
)
_HINTS_IN_ANY_CASE = ("pass", "pwd", "secret", "key", "token", "bearer", "basic")
_PATTERNS = (
    ("SECRET_ISSUED", _ISSUED, 0),
    ("SECRET_PEM", _PEM, 0),
    ("SECRET_NAMED", _NAMED, "secret"),
    ("SECRET_BEARER", _BEARER, "secret"),
    ("SECRET_IN_URL", _IN_URL, "secret"),
)


def secret_spans(text: str) -> list[tuple[int, int, str]]:
    """Start, end and rule of every secret in `text`, rule by rule; they may overlap."""
    if not _has_hint(text):
        return []
    return [(*match.span(group), rule) for rule, pattern, group in _PATTERNS for match in pattern.finditer(text)]


def _has_hint(text: str) -> bool:
    lowered = text.lower()
    return (
        any(hint in text for hint in _HINTS)
        or any(hint in lowered for hint in _HINTS_IN_ANY_CASE)
        or ("://" in text and "@" in text)
    )
