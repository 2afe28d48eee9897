"""Checks of this machine and of what a cluster needs from it; each one is small logic on facts that are handed in."""
