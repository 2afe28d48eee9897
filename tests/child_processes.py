"""Processes that code under test starts."""

import psutil


def is_running(pid: int) -> bool:
    """Return whether a process runs; a zombie has ended."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
