"""Access to one Kubernetes API server, with objects as plain dicts.

This package imports no HTTP client; import `mlcluster.kube.client.Kube` where requests are sent.
"""
