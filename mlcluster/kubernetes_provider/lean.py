"""Imports of the protocol modules without the whole SDK, which reduce the start time of the process to a third.

`import pulumi.runtime.proto.provider_pb2` first runs `pulumi/__init__.py`, which imports the SDK (0.4 s), and
`import httpx` imports its command line if rich and click are installed (0.1 s). The provider uses neither. Only
`__main__` calls this function, because a process that runs programs needs the complete packages.
"""

import importlib.util
import sys
from types import ModuleType


def import_lean() -> None:
    """Import only the parts of pulumi and httpx that the provider uses."""
    found = importlib.util.find_spec("pulumi")
    if found is None or found.origin is None or "pulumi" in sys.modules:
        return
    base = found.origin.rpartition("/")[0]
    for name, folder in (("pulumi", base), ("pulumi.runtime", f"{base}/runtime")):
        package = ModuleType(name)
        package.__path__ = [folder]
        sys.modules[name] = package
    sys.modules["click"] = None  # type: ignore[assignment] # httpx then does not import its command line
    try:
        import httpx  # noqa: F401 - imported for the side effect
    finally:
        del sys.modules["click"]
