"""mlcluster: one YAML file becomes a multi-tenant GPU Kubernetes cluster."""

__version__ = "0.1.0"
