"""The operator page: one HTML document with inline style and script, and without external resources.

The content security policy contains the digests of that style and that script, so that injected scripts
cannot run. All values are escaped.

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
_MAX_ROWS = 500  # of usage on one page
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
    """Renders the page and the login form."""

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
        environment.globals |= {"style": Markup(style), "script": Markup(script)}  # noqa: S704 - files of this package
        self._page = environment.get_template("page.html")
        self._main = environment.get_template("main.html")
        self._handoff = environment.get_template("handoff.html")
        self._usage = environment.get_template("usage.html")
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
        """Value of the header `content-security-policy`."""

    def page(
        self, status: Mapping[str, Any], *, actions: Sequence[str], form_token: str, operator: str, told: str
    ) -> str:
        """Return the whole document.

        Args:
            told: message of the last action; may be empty.
        """
        return self._page.render(status=status, actions=actions, form_token=form_token, operator=operator, told=told)

    def main(self, status: Mapping[str, Any], *, actions: Sequence[str], form_token: str) -> str:
        """Return the part that changes, for the script that refreshes the page."""
        return self._main.render(status=status, actions=actions, form_token=form_token)

    def handoff(self, case: Mapping[str, Any], *, site: str, form_token: str, operator: str) -> str:
        """Return the page of one hand-off with its conversation."""
        return self._handoff.render(case=case, site=site, form_token=form_token, operator=operator)

    def usage(self, shown: Mapping[str, Any], *, site: str, operator: str) -> str:
        """Return the page of usage and spend.

        Args:
            shown: see `status.gather_usage`.
        """
        return self._usage.render(shown, site=site, operator=operator, most=_MAX_ROWS)

    def login(self, *, site: str, is_refused: bool) -> str:
        """Return the login form."""
        return self._login.render(site=site, is_refused=is_refused)


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _clock(moment: float | str | None) -> str:
    """Return the time of day, UTC, of seconds since 1970 or of a record's time."""
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
