"""Keys of gateway.yaml that were renamed before 1.0: an old key is an error that names the new one."""

from __future__ import annotations

RENAMED_KEYS = {
    "listen.requires_certificate": "listen.requires_client_certificate",
    "admin.requires_certificate": "admin.requires_client_certificate",
    "access.oidc": "access.identity_providers",
    "quota.each_caller": "quota.default_limits",
    "quota.prices.upstreams.*.prompt_per_million": "quota.prices.upstreams.*.input_price_per_million",
    "quota.prices.upstreams.*.completion_per_million": "quota.prices.upstreams.*.output_price_per_million",
    "routes[].also": "routes[].fallbacks",
    "routes[].release.citations.on_doubt": "routes[].release.citations.on_failure",
    "routes[].release.forbidden[].on_doubt": "routes[].release.forbidden[].on_failure",
    "routes[].release.json_schema.on_doubt": "routes[].release.json_schema.on_failure",
    "policy.entities": "policy.entity_types",
    "policy.rules[].entities": "policy.rules[].entity_types",
    "routes[].release.identifiers.entities": "routes[].release.identifiers.entity_types",
    "detect.listed": "detect.exact_data_match",
    "detect.second_look": "detect.llm_review",
}
"""New path by old path; `support.renamed_keys` describes the form of a path and the meaning of the order."""
