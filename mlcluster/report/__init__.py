"""Output for people and programs: tables, problems, findings, progress, JSON."""
