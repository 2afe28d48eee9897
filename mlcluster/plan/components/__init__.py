"""Components that mlcluster installs, one module each."""
