"""Observation: counters, monitors, facts and dashboards. Alerts and recording rules are files of `templates/rules`."""
