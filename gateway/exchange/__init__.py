"""The frozen values that a request passes through: each stage returns a new one that holds the one before.

    Request        pipeline.planning.Planner.accept         the client's bytes, attributed to a principal and a route
    Admitted       pipeline.admission.Admission.reserve     its quota is reserved
    Inspected      pipeline.planning.Planner.inspect        its identifiers are known, and what policy permits
    Planned        pipeline.planning.Planner.plan           its upstreams are chosen
    Attempt        pipeline.preparation.AttemptPreparer     it is recorded, and may be sent to one upstream
    AttemptResult  pipeline.delivery.Delivery.read          a complete answer, restored
    Delivered      pipeline.answer_record.AnswerRecorder    the end of the answer, as its audit record states it

No stage changes a value or a body; see `value`.
"""
