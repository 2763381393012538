"""From site.yaml to a proven site: spec, catalogue, facts, plan, apply, checks, lab."""
