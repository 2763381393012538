"""Terms of a standing plan: the inputs of a decision except metrics and phases, as plain values. Pure.

The terms follow from site.yaml, catalogue and sizing. A plan whose terms differ from those of the present site is not
in effect, so that a change of bounds, GPUs, thresholds or busy hours needs a new approval.

    terms = terms_of(spec, catalog)
    rules(terms), calendar(terms)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..catalog import Catalog
from ..scaling.decision import PoolRule, Rules
from ..scaling.positions import Position, ReplicaId
from ..scaling.rules import Busy, Calendar, calendar_of, rules_of
from ..scaling.saturation import Thresholds
from ..spec import SiteSpec

Terms = Mapping[str, Any]
"""Plain values, as in JSON."""


def terms_of(spec: SiteSpec, catalog: Catalog) -> dict[str, Any]:
    """Return the terms of a valid site with a section `scaling`."""
    assert spec.scaling is not None
    made, hours = rules_of(spec, catalog), calendar_of(spec, catalog)
    replicas = {pool.name: pool.replicas for pool in spec.pools}
    scaled = {each.pool: each for each in spec.scaling.pools}
    return {
        "site": spec.site.name,
        "interval_s": spec.scaling.interval_s,
        "window_s": spec.scaling.window_s,
        "timezone": hours.timezone,
        "thresholds": asdict(made.thresholds),
        "pools": [
            {
                **asdict(rule),
                "replicas": replicas[rule.pool],
                "idle": scaled[rule.pool].idle.value,
                "busy": [
                    {"replicas": each.replicas, "spans": [list(span) for span in each.spans]}
                    for each in hours.pools.get(rule.pool, ())
                ],
            }
            for rule in made.pools
        ],
        "positions": {
            str(replica): {"node": each.node, "gpus": [list(gpu) for gpu in each.gpus], "port": each.port}
            for replica, each in made.positions.items()
        },
    }


def replica_id(text: str) -> ReplicaId:
    """Return the replica of a name such as `chat/1`.

    Raises:
        ValueError: another format.
    """
    pool, _, index = text.rpartition("/")
    if not pool:
        raise ValueError(text)
    return ReplicaId(pool, int(index))


def rules(terms: Terms) -> Rules:
    """Return the rules of decisions."""
    names = PoolRule.__dataclass_fields__
    pools = tuple(PoolRule(**{name: each[name] for name in names}) for each in terms["pools"])
    places = {
        replica_id(name): Position(
            each["node"], tuple((str(node), int(gpu)) for node, gpu in each["gpus"]), each["port"]
        )
        for name, each in terms["positions"].items()
    }
    return Rules(pools, places, Thresholds(**terms["thresholds"]))


def calendar(terms: Terms) -> Calendar:
    """Return the calendar."""
    return Calendar(
        terms["timezone"],
        {
            each["pool"]: tuple(
                Busy(tuple((start, end) for start, end in busy["spans"]), busy["replicas"]) for busy in each["busy"]
            )
            for each in terms["pools"]
        },
    )
