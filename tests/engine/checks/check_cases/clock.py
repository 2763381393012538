"""Cases of the checks of clock."""

from __future__ import annotations

from check_cases.case import FAIL, UNKNOWN, WARN, Bad, Sample

from sovctl.engine.checks.definitions.clock import drift, synchronized

TRACKING = "0A4D0001,10.77.0.1,9,1732156189.1,-0.000412,0.1,0.1,-1.2,0.0,0.1,0.000210,0.000120,64.2,Normal\n"


SOURCES = "^,*,10.77.0.1,8,6,377,23,-0.000001,0.000002,0.000030\n"


FREQUENCY = "0A4D0001,10.77.0.1,3,1795000000.1,0.00001,0.00001,0.00002,-12.345,0.001,0.02,0.0003,0.0001,64.2,Normal\n"

SAMPLES = {
    "clock.drift": Sample(
        drift.Expected(),
        {"tracking": FREQUENCY},
        {
            "limit": Bad({"tracking": FREQUENCY.replace("-12.345", "-500.0")}, FAIL, "500.0 ppm"),
            "large": Bad({"tracking": FREQUENCY.replace("-12.345", "180.5")}, WARN, "180.5 ppm"),
            "not-a-number": Bad({"tracking": FREQUENCY.replace("-12.345", "nan")}, UNKNOWN, "14 fields"),
            "cut": Bad({"tracking": FREQUENCY[:40]}, UNKNOWN, "eighth field"),
        },
        ("0A4D0001",),
    ),
    "clock.synchronized": Sample(
        synchronized.Expected(servers=("10.77.0.1",), max_offset_ms=100),
        {"tracking": TRACKING, "sources": SOURCES},
        {
            "unsynchronised": Bad(
                {"tracking": TRACKING.replace("Normal", "Not synchronised")}, FAIL, "Not synchronised"
            ),
            "far-off": Bad({"tracking": TRACKING.replace("-0.000412", "-0.412")}, FAIL, "412."),
            "another-source": Bad({"sources": SOURCES.replace("10.77.0.1", "198.51.100.7")}, FAIL, "198.51.100.7"),
            "silent-source": Bad({"sources": SOURCES.replace(",377,", ",0,")}, FAIL, "last eight polls"),
            "none-selected": Bad({"sources": SOURCES.replace("*", "?")}, FAIL, "selected"),
        },
        ("Normal", "^,*"),
    ),
}
