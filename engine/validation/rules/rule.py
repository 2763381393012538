"""Base types of the rules over site.yaml, and the two most frequent kinds of problems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date

from sovctl.support.errors import Problem
from sovctl.support.suggestions import nearest

from ...catalog import Catalog, ModelEntry, Platform
from ...spec import NodeGroup, Pool, SiteSpec

MAX_NAMES = 12  # listed in one message


@dataclass(frozen=True)
class SiteUnderValidation:
    """Input of a rule: a site.yaml, the catalogue and the current day."""

    spec: SiteSpec
    catalog: Catalog
    today: date
    """UTC."""

    def groups(self) -> dict[str, NodeGroup]:
        """Return node groups by name; the first one of a duplicate name."""
        return {group.name: group for group in reversed(self.spec.node_groups)}

    def platform_of(self, pool: Pool) -> Platform | None:
        """Return the platform of a pool; None if the site or the catalogue does not contain it."""
        group = self.groups().get(pool.node_group)
        machine = self.catalog.machine(group, pool) if group else None
        return machine[0] if machine else None

    def model_of(self, pool: Pool) -> ModelEntry | None:
        """Return the catalogue entry of a pool's model; None if the site or the catalogue does not contain it."""
        model = next((each for each in self.spec.models if each.name == pool.model), None)
        return self.catalog.models.get(model.catalog) if model else None


@dataclass(frozen=True)
class Rule:
    """One rule across fields.

    Args:
        sentence: the rule as a sentence, listed in docs/site-yaml.md.
        reads: top-level keys of site.yaml that `find` reads. The rule is skipped if one of them is invalid.
        find: returns the problems; `where` is a path in site.yaml.
        is_of_machines: whether the rule checks for sufficient nodes or GPUs; skipped for drafts, which are only sized.
        is_of_numbers: whether the rule computes with values; skipped for a site with placeholders.
        is_of_items: whether the rule also runs if some items of a list are invalid, because it checks items one by one
            or against the other valid items.
    """

    sentence: str
    reads: tuple[str, ...]
    find: Callable[[SiteUnderValidation], Iterator[Problem]]
    is_of_machines: bool = False
    is_of_items: bool = False
    is_of_numbers: bool = False


def unknown_name(what: str, name: str, known: Iterable[str], where: str) -> Iterator[Problem]:
    """Yield a problem if `name` is not in `known`; the hint names the most similar one."""
    names = list(dict.fromkeys(known))
    if name in names:
        return
    near = nearest(name, names)
    listed = ", ".join(names[:MAX_NAMES]) + (", ..." if len(names) > MAX_NAMES else "") if names else "none"
    yield Problem(
        f"expected a known {what}, got `{name}`",
        where=where,
        hint=(f"did you mean `{near}`? " if near else "") + f"known: {listed}",
    )


def duplicates(what: str, items: Iterable[tuple[str, object]]) -> Iterator[Problem]:
    """Yield a problem for every repeated value.

    Args:
        items: path and value, in the order of the file.
    """
    first: dict[object, str] = {}
    for where, value in items:
        if value in first:
            yield Problem(
                f"expected every {what} once, got `{value}` again",
                where=where,
                hint=f"{first[value]} has the same value; change one of the two",
            )
        first.setdefault(value, where)
