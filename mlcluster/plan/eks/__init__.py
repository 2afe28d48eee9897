"""The `eks` target: every AWS resource of the cluster, as plain data."""
