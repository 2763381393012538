"""Keys of site.yaml that were renamed before 1.0: an old key is an error that names the new one."""

from __future__ import annotations

RENAMED_KEYS = {
    "gateway.vault_ttl_s": "gateway.vault.ttl_s",
    "gateway.token_key_versions": "gateway.token_keys[].version",
    "gateway.routing.request_timeout_s": "gateway.limits.request_timeout_s",
    "gateway.format_preserving": "gateway.tokens.format_preserving",
    "gateway.link_hosts": "gateway.restore.link_hosts",
    "gateway.each_caller": "gateway.quota.default_limits",
    "gateway.admin.requires_certificate": "gateway.admin.requires_client_certificate",
    "gateway.routes[].also": "gateway.routes[].fallbacks",
    "gateway.routes[].release.citations.on_doubt": "gateway.routes[].release.citations.on_failure",
    "gateway.routes[].release.forbidden[].on_doubt": "gateway.routes[].release.forbidden[].on_failure",
    "gateway.routes[].release.json_schema.on_doubt": "gateway.routes[].release.json_schema.on_failure",
    "gateway.detect.listed": "gateway.detect.exact_data_match",
    "gateway.detect.second_look": "gateway.detect.llm_review",
    "gateway.policy.entities": "gateway.policy.entity_types",
    "gateway.policy.rules[].entities": "gateway.policy.rules[].entity_types",
    "gateway.routes[].release.identifiers.entities": "gateway.routes[].release.identifiers.entity_types",
    "gateway.prices.upstreams[].prompt_per_million": "gateway.prices.upstreams[].input_price_per_million",
    "gateway.prices.upstreams[].completion_per_million": "gateway.prices.upstreams[].output_price_per_million",
    "sizing.hall.racks": "sizing.racks.count",
    "sizing.racks.racks": "sizing.racks.count",
    "sizing.hall": "sizing.racks",
    "sizing.scaling.base_percent": "sizing.autoscaling.min_replicas_percent",
    "sizing.scaling.calendar": "sizing.autoscaling.busy_hours",
    "sizing.autoscaling.base_percent": "sizing.autoscaling.min_replicas_percent",
    "sizing.autoscaling.calendar": "sizing.autoscaling.busy_hours",
    "sizing.scaling": "sizing.autoscaling",
    "sizing.costs.api_input_per_million": "sizing.costs.input_price_per_million",
    "sizing.costs.api_output_per_million": "sizing.costs.output_price_per_million",
}
"""New path by old path; `support.renamed_keys` describes the form of a path and the meaning of the order."""
