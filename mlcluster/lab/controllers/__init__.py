"""Controllers of components as host processes of a lab: Kueue, JobSet, Trainer, the operators of MPI and Ray."""
