"""Facts as data files, each with its source: instances, GPUs, component pins."""
