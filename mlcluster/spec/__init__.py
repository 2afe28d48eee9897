"""The spec: its models, the YAML reader that keeps line numbers, the checks, and the reference of its fields."""
