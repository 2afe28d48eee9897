"""The real Pulumi engine under our verbs: the only package that imports `pulumi.automation`, and only when it runs."""
