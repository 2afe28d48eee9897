"""Questions and writes to one Kubernetes API server, with plain dict objects.

Nothing heavy is imported here: `from mlcluster.kube.client import Kube` where a server is really asked.
"""
