"""Charts as files: which archive belongs to a release, and what Helm renders of it."""
