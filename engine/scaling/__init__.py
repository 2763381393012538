"""Autoscaling on fixed hardware: positions of replicas, saturation, decisions, and the simulation of a day. Pure."""
