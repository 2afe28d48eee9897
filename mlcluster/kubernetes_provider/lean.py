"""Start the process in a third of the time: import only the modules of the protocol, not the whole SDK.

`import pulumi.runtime.proto.provider_pb2` first runs `pulumi/__init__.py`, which imports the SDK (0.4 s), and
`import httpx` imports its own command line when rich and click are there (0.1 s). Neither is used here. Only
`__main__` calls this: in a process that also runs programs the real packages are wanted.
"""

import importlib.util
import sys
from types import ModuleType


def import_lean() -> None:
    """Import what the provider needs of pulumi and httpx, and nothing else of them."""
    found = importlib.util.find_spec("pulumi")
    if found is None or found.origin is None or "pulumi" in sys.modules:
        return
    base = found.origin.rpartition("/")[0]
    for name, folder in (("pulumi", base), ("pulumi.runtime", f"{base}/runtime")):
        package = ModuleType(name)
        package.__path__ = [folder]
        sys.modules[name] = package
    sys.modules["click"] = None  # type: ignore[assignment] # httpx then leaves its command line out
    try:
        import httpx  # noqa: F401 - imported for the side effect
    finally:
        del sys.modules["click"]
