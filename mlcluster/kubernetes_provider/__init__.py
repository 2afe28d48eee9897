"""The built-in Pulumi provider `kubernetes`: server-side apply, diffs asked of the API server, one process.

The engine starts it as an executable, so this package stays light: everything real is imported by `__main__`.
"""

from mlcluster.kubernetes_provider.plugin import FOLDER, VERSION, install, uninstall

__all__ = ["FOLDER", "VERSION", "install", "uninstall"]
