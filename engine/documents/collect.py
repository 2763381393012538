"""Collects the values of all documents of a site. Pure: the caller reads the files.

collection = collect(sources)
fill(load_template("gdpr-art-30"), collection, answers)
"""

from __future__ import annotations

from sovctl.compliance.documents.fill import Collection

from .cloud_values import cloud_values
from .data_places import data_places
from .model_values import model_findings, model_values
from .node_facts import KnownFacts
from .node_values import node_values
from .site_values import Sources, site_values


def collect(sources: Sources) -> Collection:
    """Return the values of a site for `compliance.documents.fill`."""
    spec, evidence = sources.spec, sources.evidence
    is_simulated = any(isinstance(each, KnownFacts) and each.facts.simulated for each in sources.facts.values())
    return Collection(
        values=site_values(sources),
        subjects={
            "cloud": cloud_values(spec),
            "model": model_values(spec, sources.catalog, evidence),
            "node": node_values(spec, sources.facts, evidence),
        },
        tables={"data-places": data_places(spec, evidence)},
        findings={"licences": model_findings(spec, sources.catalog)},
        simulated=evidence.simulated or is_simulated,
    )
