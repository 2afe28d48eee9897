"""The Pulumi engine: the only package that imports `pulumi.automation`, and only when an engine runs."""
