"""Retention of audit data: removes old entries together with the evidence, reports and journals they protect."""
