"""The lab: a real control plane of ordinary host processes on loopback, with simulated nodes and a real Kueue."""
