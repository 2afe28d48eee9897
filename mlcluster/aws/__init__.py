"""Read-only access to an AWS account: the caller's identity, checks before a run, leftover resources."""
