"""Simulates a day of requests on the scaled pools of a site, with service times of the sizing model. Pure."""
