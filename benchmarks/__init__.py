"""Repeatable measurements, each a ratio against something else of the same minute."""
