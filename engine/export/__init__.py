"""Manifests for Kubernetes and Ray, computed from site.yaml. Pure; the folder is written as a whole."""
