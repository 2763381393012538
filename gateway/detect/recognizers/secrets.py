"""Recognizes keys, tokens and passwords: by the published formats of issuers, and by labels (`labelled_passwords`).

Each format is specific enough to count without context. The formats are the issuers' documented prefixes (GitHub
2021-04, GitLab "Token prefixes", AWS IAM identifiers, Slack, Stripe, RFC 7519, RFC 7468), read 2026-11.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

from ...domain.entities import EntityType
from ..context.surroundings import TextContext
from ..findings.finding import Finding
from ..text.scanner import Pattern
from .labelled_passwords import named_secret, spellings

_SCORE = 0.9
_NAMED_RULE = "SECRET_NAMED"
_URL64 = "[0-9A-Za-z_-]"
_LETTERS = string.ascii_letters + string.digits


@dataclass(frozen=True)
class _Form:
    rule: str
    begins: str
    """Prefix of every such secret, for the scanner."""
    whole: re.Pattern[str]
    """The whole; the group `secret`, where there is one, is what must not leave."""
    has_case: bool = True
    not_behind: str = _LETTERS
    """Characters that must not precede it; its own characters, so that a long run does not match at every place."""


def _issued(rule: str, begins: str, rest: str) -> _Form:
    """Return the form of secrets with a prefix that the issuer publishes."""
    return _Form(
        rule,
        f"{begins}(?:{_shortest(rest)})",
        re.compile(f"{begins}(?:{rest})(?![0-9A-Za-z])"),
        not_behind=_LETTERS + "_-" if _URL64 in rest else _LETTERS,
    )


def _shortest(rest: str) -> str:
    """`rest` with its last `{n,m}` as `{n}`, and any before it as `{n,}`: enough to find where it begins."""
    ranges = list(re.finditer(r"\{([0-9]+),[0-9]*\}", rest))
    for match in reversed(ranges):
        comma = "" if match is ranges[-1] else ","
        rest = f"{rest[: match.start()]}{{{match.group(1)}{comma}}}{rest[match.end() :]}"
    return rest


_PEM_LABEL = "(?:[A-Z0-9]{1,16} ){0,3}"

_FORMS: tuple[_Form, ...] = (
    _issued("SECRET_AWS", "A(?:KIA|SIA|BIA|CCA)", "[A-Z0-9]{16}"),
    _issued("SECRET_GITHUB", "gh[pousr]_", "[0-9A-Za-z]{36,255}"),
    _issued("SECRET_GITHUB", "github_pat_", "[0-9A-Za-z_]{22,255}"),
    _issued("SECRET_GITLAB", "gl(?:pat|dt|rt|cbt|ptt|ft|oas|soat|imt|agent|ffct)-", f"{_URL64}{{20,255}}"),
    _issued("SECRET_SLACK", "xox[abceoprs]-", "[0-9A-Za-z-]{10,255}"),
    _issued("SECRET_SLACK", "xapp-[0-9]-", "[0-9A-Za-z-]{20,255}"),
    _issued("SECRET_SLACK", "hooks.slack.com/(?:services|workflows|triggers)/", "[0-9A-Za-z/]{20,255}"),
    _issued("SECRET_MODEL_API", "sk-", f"(?:ant-|proj-|svcacct-|admin-|or-v1-|lf-)?{_URL64}{{20,255}}"),
    _issued("SECRET_STRIPE", "[rsp]k_(?:live|test|prod)_", "[0-9A-Za-z]{16,255}"),
    _issued("SECRET_STRIPE", "whsec_", "[0-9A-Za-z+/=]{16,255}"),
    _issued("SECRET_HUGGING_FACE", "hf_", "[0-9A-Za-z]{30,255}"),
    _issued("SECRET_NVIDIA", "nvapi-", f"{_URL64}{{40,255}}"),
    _issued("SECRET_PYPI", "pypi-", f"{_URL64}{{50,255}}"),
    _issued("SECRET_NPM", "npm_", "[0-9A-Za-z]{36}"),
    _issued("SECRET_GOOGLE", "AIza", f"{_URL64}{{35}}"),
    _issued("SECRET_GOOGLE", "ya29[.]", f"{_URL64}{{20,255}}"),
    _issued("SECRET_GOOGLE", "GOCSPX-", f"{_URL64}{{20,64}}"),
    _issued("SECRET_SENDGRID", "SG[.]", f"{_URL64}{{16,64}}[.]{_URL64}{{16,64}}"),
    _issued("SECRET_MAILGUN", "key-", "[0-9a-f]{32}"),
    _issued("SECRET_TWILIO", "(?:SK|AC)", "[0-9a-f]{32}"),
    _issued("SECRET_VAULT", "hv[sbr][.]", f"{_URL64}{{24,255}}"),
    _issued("SECRET_DIGITALOCEAN", "do[opr]_v1_", "[0-9a-f]{64}"),
    _issued("SECRET_DATABRICKS", "dapi", "[0-9a-f]{32}"),
    _issued("SECRET_DOCKER", "dckr_(?:pat|oat)_", f"{_URL64}{{20,255}}"),
    _issued("SECRET_SHOPIFY", "shp(?:at|ca|pa|ss)_", "[0-9a-fA-F]{32}"),
    _issued("SECRET_SQUARE", "sq0(?:atp|csp|idp)-", f"{_URL64}{{22,60}}"),
    _issued("SECRET_ATLASSIAN", "ATATT3", "[0-9A-Za-z_=-]{50,255}"),
    _issued("SECRET_LINEAR", "lin_(?:api|oauth)_", "[0-9A-Za-z]{32,64}"),
    _issued("SECRET_NOTION", "ntn_", "[0-9A-Za-z]{40,60}"),
    _issued("SECRET_POSTMAN", "PMAK-", "[0-9a-f]{24}-[0-9a-f]{34}"),
    _issued("SECRET_GRAFANA", "gl(?:c|sa)_", "[0-9A-Za-z_+/=]{32,255}"),
    _issued("SECRET_TELEGRAM", "[0-9]{8,10}:AA", f"{_URL64}{{32,33}}"),
    _issued("SECRET_AIRTABLE", "pat[0-9A-Za-z]{14}[.]", "[0-9a-f]{64}"),
    _issued("SECRET_ALIBABA", "LTAI", "[0-9A-Za-z]{16,24}"),
    _issued("SECRET_DOPPLER", "dp[.](?:pt|st|ct|sa|scim|audit)[.]", "[0-9A-Za-z]{40,44}"),
    _issued("SECRET_FACEBOOK", "EAA[A-Z]", "[0-9A-Za-z]{80,300}"),
    _issued("SECRET_FIGMA", "fig[dou]_", f"{_URL64}{{40,60}}"),
    _issued("SECRET_GROQ", "gsk_", "[0-9A-Za-z]{40,60}"),
    _issued("SECRET_HUBSPOT", "pat-(?:na|eu)[0-9]-", "[0-9a-f-]{36}"),
    _issued("SECRET_MAILCHIMP", "[0-9a-f]{32}-us", "[0-9]{1,2}"),
    _issued("SECRET_NEW_RELIC", "NRAK-", "[0-9A-Z]{27}"),
    _issued("SECRET_PERPLEXITY", "pplx-", "[0-9A-Za-z]{40,60}"),
    _issued("SECRET_PLANETSCALE", "pscale_(?:tkn|pw|oauth)_", f"{_URL64}{{32,64}}"),
    _issued("SECRET_PULUMI", "pul-", "[0-9a-f]{40}"),
    _issued("SECRET_REPLICATE", "r8_", "[0-9A-Za-z]{37,40}"),
    _issued("SECRET_RUBYGEMS", "rubygems_", "[0-9a-f]{48}"),
    _issued("SECRET_SENDINBLUE", "xkeysib-", "[0-9a-f]{64}-[0-9A-Za-z]{16}"),
    _issued("SECRET_SENTRY", "sntry[su]_", "[0-9A-Za-z_+/=-]{60,255}"),
    _issued("SECRET_SONAR", "sq[pua]_", "[0-9a-f]{40}"),
    _issued("SECRET_SUPABASE", "sb(?:p|_secret)_", f"{_URL64}{{20,64}}"),
    _issued("SECRET_TAILSCALE", "tskey-(?:auth|api|client)-", "[0-9A-Za-z-]{16,80}"),
    _issued("SECRET_TERRAFORM", "[0-9A-Za-z]{14}[.]atlasv1[.]", f"{_URL64}{{60,70}}"),
    _issued("SECRET_XAI", "xai-", "[0-9A-Za-z]{60,90}"),
    _issued("SECRET_AGE", "AGE-SECRET-KEY-1", "[02-9AC-HJ-NP-Z]{58}"),
    _issued("SECRET_1PASSWORD", "A3-", "[0-9A-Z]{6}-(?:[0-9A-Z]{11}|[0-9A-Z]{6}-[0-9A-Z]{5})(?:-[0-9A-Z]{5}){3}"),
    _issued("SECRET_1PASSWORD", "ops_eyJ", "[0-9A-Za-z+/=]{250,2048}"),
    _issued("SECRET_ADOBE", "p8e-", "[0-9a-z]{32}"),
    _issued("SECRET_ARTIFACTORY", "AKCp", "[0-9A-Za-z]{69}"),
    _issued("SECRET_ARTIFACTORY", "cmVmd", "[0-9A-Za-z]{59}"),
    _issued("SECRET_AWS", "ABSK", "[0-9A-Za-z+/]{100,255}"),
    _issued("SECRET_CLICKHOUSE", "4b1d", "[0-9A-Za-z]{38}"),
    _issued("SECRET_CLOJARS", "CLOJARS_", "[0-9a-z]{60}"),
    _issued("SECRET_CLOUDFLARE", "v1[.]0-", "[0-9a-f]{24}-[0-9a-f]{146}"),
    _issued("SECRET_DUFFEL", "duffel_(?:test|live)_", f"{_URL64}{{43}}"),
    _issued("SECRET_DYNATRACE", "dt0[a-z][0-9]{2}[.]", "[0-9A-Z]{24}[.][0-9A-Z]{64}"),
    _issued("SECRET_EASYPOST", "EZ[AT]K", "[0-9A-Za-z]{54}"),
    _issued("SECRET_FLUTTERWAVE", "FLWSECK(?:_TEST)?-", "[0-9A-Za-z]{12,32}"),
    _issued("SECRET_FLY", "fo1_", f"{_URL64}{{43}}"),
    _issued("SECRET_FRAMEIO", "fio-u-", f"{_URL64}{{64}}"),
    _issued("SECRET_HARNESS", "[ps]at[.]", f"{_URL64}{{22}}[.][0-9A-Za-z]{{24}}[.][0-9A-Za-z]{{20}}"),
    _issued("SECRET_HEROKU", "HRKU-", f"{_URL64}{{36,64}}"),
    _issued("SECRET_HUGGING_FACE", "api_org_", "[0-9A-Za-z]{34}"),
    _issued("SECRET_INFRACOST", "ico-", "[0-9A-Za-z]{32}"),
    _issued("SECRET_OCTOPUS", "API-", "[0-9A-Z]{26}"),
    _issued("SECRET_OPENSHIFT", "sha256~", f"{_URL64}{{43}}"),
    _issued("SECRET_PREFECT", "pn[ub]_", "[0-9A-Za-z]{36}"),
    _issued("SECRET_README", "rdme_", "[0-9a-z]{70}"),
    _issued("SECRET_SHIPPO", "shippo_(?:live|test)_", "[0-9a-fA-F]{40}"),
    _issued("SECRET_SOURCEGRAPH", "sgp_", "(?:[0-9a-fA-F]{16}_)?[0-9a-fA-F]{40}"),
    _issued("SECRET_JWT", "eyJ", f"{_URL64}{{8,8192}}[.]{_URL64}{{8,8192}}(?:[.]{_URL64}*)?"),
    _Form(
        "SECRET_PEM",
        f"-----BEGIN {_PEM_LABEL}PRIVATE KEY",
        re.compile(
            rf"-----BEGIN {_PEM_LABEL}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----)){{0,32768}}"
            rf"(?:-----END {_PEM_LABEL}PRIVATE KEY(?: BLOCK)?-----)?"
        ),
        not_behind="",
    ),
    _Form(
        "SECRET_BEARER",
        r"(?:bearer|basic|token)[ \t:]{1,3}[0-9A-Za-z_.~+/=-]{20}",
        re.compile(r"(?:bearer|basic|token)[ \t:]{1,3}(?P<secret>[0-9A-Za-z_\-.~+/]{20,8192}={0,2})", re.IGNORECASE),
        has_case=False,
    ),
    _Form(
        "SECRET_IN_URL",
        r"://[^\s/:@]{0,64}:[^\s/@]{2}",
        re.compile(r"://[^\s/:@]{0,64}:(?P<secret>[^\s/@]{2,256})@"),
        has_case=False,
        not_behind="",
    ),
)


class SecretRecognizer:
    """Finds keys, tokens and passwords."""

    @property
    def rules(self) -> Sequence[str]:
        """Names of all forms."""
        return [*(form.rule for form in _FORMS), _NAMED_RULE]

    @property
    def patterns(self) -> Sequence[Pattern]:
        """Prefixes of secrets, and the words that label them."""
        named = Pattern("|".join(sorted(spellings())))
        return [*(Pattern(form.begins, has_case=form.has_case) for form in _FORMS), named]

    def at(self, text: str, start: int, pattern: int, _around: TextContext) -> Finding | None:
        """Return the secret that begins or is labelled at `start`."""
        if pattern == len(_FORMS):
            span = named_secret(text, start)
            return Finding(*span, EntityType.SECRET, _SCORE, text[slice(*span)], _NAMED_RULE) if span else None
        form = _FORMS[pattern]
        if start and text[start - 1] in form.not_behind:
            return None
        match = form.whole.match(text, start)
        if match is None:
            return None
        first, last = match.span("secret" if "secret" in form.whole.groupindex else 0)
        return Finding(first, last, EntityType.SECRET, _SCORE, text[first:last], form.rule)
