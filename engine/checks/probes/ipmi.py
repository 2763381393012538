"""Commands of ipmitool, which reach the management controller through the driver of the kernel (`ipmi_devintf`).

They print no user name and no community string: evidence keeps their output.
"""

from __future__ import annotations

CONTROLLER = "ipmitool mc info"
SELF_TEST = "ipmitool mc selftest"
CHASSIS = "ipmitool chassis status"
SUPPLIES = "ipmitool sdr type 'Power Supply'"
FANS = "ipmitool sdr type Fan"
TEMPERATURES = "ipmitool sdr type Temperature"
LOG_STATE = "ipmitool sel info"
LAST_EVENTS = 100
LOG = f"TZ=UTC LC_ALL=C ipmitool sel elist last {LAST_EVENTS}"
LOG_TIME = "TZ=UTC LC_ALL=C ipmitool sel time get"
_CHANNELS = "1 2 3 4 5 6 7 8"  # IPMI 2.0, 6.3: channels 1 to 0Bh are of the vendor; those of a network are low (guess)
CHANNELS = f"""for c in {_CHANNELS}; do
  settings=$(ipmitool lan print "$c" 2>/dev/null) || continue
  echo "## $c"; printf '%s\\n' "$settings" | grep -v '^SNMP'
  ipmitool -c user list "$c" | awk -F, -v OFS=, 'NF == 6 {{ $2 = $2 == "" ? "anonymous" : "named"; print "user " $0 }}'
done"""
"""A block for each network channel: its settings, then a line for each user, without the name. One command prints both,
because a controller takes up to a second for each channel (guess)."""
