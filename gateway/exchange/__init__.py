"""The frozen values that a request passes through: each stage returns a new one that holds the one before.

    Request     pipeline.planning.Planner.accept        the client's bytes, attributed to a principal and a route
    Admitted    pipeline.admission.Admission.reserve    its quota is reserved
    Inspected   pipeline.planning.Planner.inspect       its identifiers are known, and what policy permits
    Planned     pipeline.planning.Planner.plan          its upstreams are chosen

They are named tuples, which are three times as fast to create as frozen data classes. No stage changes a body.
"""
