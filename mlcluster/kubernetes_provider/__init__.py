"""The built-in Pulumi provider `kubernetes`: one process with server-side apply, and diffs from the API server.

The engine starts it as an executable, so this module imports nothing; `__main__` imports the implementation.
"""

from mlcluster.kubernetes_provider.plugin import FOLDER, VERSION, install, uninstall

__all__ = ["FOLDER", "VERSION", "install", "uninstall"]
