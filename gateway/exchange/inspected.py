"""A request whose identifiers are known."""

from __future__ import annotations

from ..inspection.inspector import Inspection, Inspector
from ..policy.decision import Permit
from .admitted import Admitted
from .value import value


@value
class Inspected:
    """A request with its findings and the decision of policy."""

    admitted: Admitted
    inspection: Inspection | None
    """None if the detector failed; the request then stays on-prem."""
    permit: Permit
    inspector: Inspector
    """Holds the findings of each text of the body."""
