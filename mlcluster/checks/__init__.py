"""Checks of this machine and of the requirements of a cluster. Each check is a small function on given facts."""
