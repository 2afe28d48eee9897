"""Kills parts of `mlcluster up` and `mlcluster down` at random moments, and runs the same command again."""
