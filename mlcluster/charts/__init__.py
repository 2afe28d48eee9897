"""Charts as files: the archive of a release, and the objects that Helm renders from it."""
