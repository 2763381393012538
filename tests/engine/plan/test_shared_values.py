"""Values that like nodes share are computed once for a site."""

from __future__ import annotations

from strategies import context

from sovctl.engine.resources.context import Context


def test_a_shared_value_is_computed_once_for_each_argument() -> None:
    site, calls = context("bank-hybrid"), []

    def made(given: Context, value: str) -> str:
        calls.append(value)
        return f"{given.spec.site.name} {value}"

    first, other, again = (site.once(made, value) for value in ("a", "b", "a"))
    assert (first, other, again) == (f"{site.spec.site.name} a", f"{site.spec.site.name} b", first)
    assert calls == ["a", "b"]
