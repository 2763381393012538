"""Management controllers of nodes, and what they measure: power supplies, fans, temperatures and events."""
