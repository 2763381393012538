"""What a rule over site.yaml looks at, and the two forms most rules' problems take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date

from sovctl.support.errors import Problem
from sovctl.support.suggestions import nearest

from ...catalog import Catalog, ModelEntry, Platform
from ...spec import NodeGroup, Pool, SiteSpec

MAX_NAMES = 12  # that a message lists


@dataclass(frozen=True)
class SiteUnderValidation:
    """One site.yaml against one catalogue on one day."""

    spec: SiteSpec
    catalog: Catalog
    today: date
    """UTC."""

    def groups(self) -> dict[str, NodeGroup]:
        """Node groups by name; the first of a name that stands twice."""
        return {group.name: group for group in reversed(self.spec.node_groups)}

    def platform_of(self, pool: Pool) -> Platform | None:
        """What a pool runs on; None where the spec or the catalogue does not say."""
        group = self.groups().get(pool.node_group)
        machine = self.catalog.machine(group.platform, group.mig) if group else None
        return machine[0] if machine else None

    def model_of(self, pool: Pool) -> ModelEntry | None:
        """What a pool serves; None where the spec or the catalogue does not say."""
        model = next((each for each in self.spec.models if each.name == pool.model), None)
        return self.catalog.models.get(model.catalog) if model else None


@dataclass(frozen=True)
class Rule:
    """One rule across fields.

    Args:
        says: the rule as a sentence; docs/site-yaml.md lists them.
        reads: top-level keys of site.yaml that `find` looks at. Where one of them is not well formed, the rule waits.
        find: problems, `where` being a path.
        is_of_machines: True where it asks whether there are enough of them; a draft that is only sized needs none.
        is_of_numbers: True where it reckons with values, so that none may be a stand-in for a wrong one.
        is_of_items: True where it judges every item of a list by itself, or against the others; it needs no item that
            is not well formed, as one would that looks for names.
    """

    says: str
    reads: tuple[str, ...]
    find: Callable[[SiteUnderValidation], Iterator[Problem]]
    is_of_machines: bool = False
    is_of_items: bool = False
    is_of_numbers: bool = False


def unknown_name(what: str, name: str, known: Iterable[str], where: str) -> Iterator[Problem]:
    """A problem when `name` is none of `known`, with the nearest of them."""
    names = list(dict.fromkeys(known))
    if name in names:
        return
    near = nearest(name, names)
    listed = ", ".join(names[:MAX_NAMES]) + (", ..." if len(names) > MAX_NAMES else "") if names else "none at all"
    yield Problem(
        f"expected a known {what}, got `{name}`",
        where=where,
        hint=(f"did you mean `{near}`? " if near else "") + f"known: {listed}",
    )


def duplicates(what: str, items: Iterable[tuple[str, object]]) -> Iterator[Problem]:
    """A problem for every item that has been there before.

    Args:
        items: path and value, in the order of the file.
    """
    first: dict[object, str] = {}
    for where, value in items:
        if value in first:
            yield Problem(
                f"expected every {what} once, got `{value}` again",
                where=where,
                hint=f"it stands at {first[value]} already; change one of the two",
            )
        first.setdefault(value, where)
