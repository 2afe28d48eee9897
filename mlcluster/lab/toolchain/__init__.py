"""The programs that the lab and the engine run: found on PATH, in the cache, or built from pinned Go modules."""

from mlcluster.lab.toolchain.build import ensure, ensure_optional, ensure_tool
from mlcluster.lab.toolchain.find import Program, Toolchain, find, find_optional, find_tool

__all__ = ["Program", "Toolchain", "ensure", "ensure_optional", "ensure_tool", "find", "find_optional", "find_tool"]
