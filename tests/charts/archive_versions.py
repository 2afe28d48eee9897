"""Charts that tests compare with an archive of another version than the pin: the nearest that could be packaged."""

from collections.abc import Mapping

DIFFERENT: Mapping[str, tuple[str, str]] = {
    "cert-manager": ("v1.21.1", "v1.21.0"),
    "volcano": ("1.15.3", "1.15.1"),
}
"""Chart -> the pinned version, and the version of the archive. Remove an entry when the pinned version is available."""
