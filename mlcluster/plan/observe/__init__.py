"""Observation: counters, rules and dashboards, as data built in Python."""
