"""Sections of `gateway.yaml` about answers: release checks, restore of tokens, hand-off to a person."""
