"""What people and programs read: tables, problems, findings, progress, JSON."""
