"""The lab: a real control plane of host processes on loopback, with simulated nodes and a real Kueue."""
