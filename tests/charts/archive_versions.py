"""Where the table was made with an archive of another version than the pin, because no other was at hand."""

from collections.abc import Mapping

DIFFERENT: Mapping[str, tuple[str, str]] = {
    "cert-manager": ("v1.21.1", "v1.21.0"),
    "volcano": ("1.15.3", "1.15.1"),
}
"""Chart -> the pinned version, and that of the archive. Remove an entry when the table is made from the pin's."""
