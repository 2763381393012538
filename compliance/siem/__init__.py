"""Events for a SIEM: ledger entries and findings as OCSF, ECS or CEF, to a file or over syslog."""
