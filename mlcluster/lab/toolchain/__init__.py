"""The programs that the lab and the engine run: found on PATH, in the cache, or built from pinned Go modules."""

from mlcluster.lab.toolchain.build import ensure, ensure_tool
from mlcluster.lab.toolchain.find import Toolchain, find, find_tool

__all__ = ["Toolchain", "ensure", "ensure_tool", "find", "find_tool"]
