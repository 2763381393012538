"""The operator page: one HTML document with its style and script inside, and nothing from anywhere else.

The content security policy names the digests of that one style and that one script, so that nothing else could run even
if it got into the page. All values are escaped.

    page = Pages()
    page.render(status, actions=[...], form_token="...", operator="ops", told="")
"""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

_FOLDER = Path(__file__).parent / "templates"
_WORDS = {
    "requests_per_minute": "requests a minute",
    "tokens_per_minute": "tokens a minute",
    "tokens_per_day": "tokens today",
    "tokens_per_month": "tokens this month",
    "cost_per_day": "cost today",
    "cost_per_month": "cost this month",
    "concurrent_requests": "requests at once",
}


class Pages:
    """Renders the page and the door to it."""

    def __init__(self) -> None:
        environment = Environment(
            loader=FileSystemLoader(_FOLDER),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters |= {"clock": _clock, "milliseconds": _milliseconds, "number": _number, "percent": _percent}
        environment.globals |= {"words": _WORDS}
        style, script = ((_FOLDER / name).read_text(encoding="utf-8") for name in ("style.css", "script.js"))
        environment.globals |= {"style": Markup(style), "script": Markup(script)}  # noqa: S704 - our own files
        self._page = environment.get_template("page.html")
        self._main = environment.get_template("main.html")
        self._handoff = environment.get_template("handoff.html")
        self._login = environment.get_template("login.html")
        self.policy = "; ".join(
            [
                "default-src 'none'",
                f"style-src '{_digest(style)}'",
                f"script-src '{_digest(script)}'",
                "connect-src 'self'",
                "form-action 'self'",
                "base-uri 'none'",
                "frame-ancestors 'none'",
            ]
        )
        """For the header `content-security-policy`."""

    def page(
        self, status: Mapping[str, Any], *, actions: Sequence[str], form_token: str, operator: str, told: str
    ) -> str:
        """The whole document.

        Args:
            told: what the last action said; may be empty.
        """
        return self._page.render(status=status, actions=actions, form_token=form_token, operator=operator, told=told)

    def main(self, status: Mapping[str, Any], *, actions: Sequence[str], form_token: str) -> str:
        """Only what changes, for the script that keeps the page fresh."""
        return self._main.render(status=status, actions=actions, form_token=form_token)

    def handoff(self, case: Mapping[str, Any], *, site: str, form_token: str, operator: str) -> str:
        """One hand-off with what was said."""
        return self._handoff.render(case=case, site=site, form_token=form_token, operator=operator)

    def login(self, *, site: str, is_refused: bool) -> str:
        """The door."""
        return self._login.render(site=site, is_refused=is_refused)


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _clock(moment: float | str | None) -> str:
    """A time of day, UTC: of seconds since 1970, or of a record's time."""
    if moment is None:
        return "-"
    if isinstance(moment, str):
        return moment[11:19]
    return time.strftime("%H:%M:%S", time.gmtime(moment))


def _milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _number(value: float) -> str:
    return f"{value:,.4f}".rstrip("0").rstrip(".") if value % 1 else f"{value:,.0f}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
