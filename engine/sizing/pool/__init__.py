"""Sizes one pool: parallel layouts, replicas, `auto` fields, autoscaling."""
