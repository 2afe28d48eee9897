"""Where mlcluster keeps things on this machine; nothing is created here."""

import os
from pathlib import Path

STATE_VARIABLE = "MLCLUSTER_STATE_DIR"
CACHE_VARIABLE = "MLCLUSTER_CACHE_DIR"


def state_directory() -> Path:
    """Stacks, labs and logs: `$MLCLUSTER_STATE_DIR`, else the user's state directory."""
    given = os.environ.get(STATE_VARIABLE)
    if given:
        return Path(given).absolute()
    from platformdirs import user_state_path

    return user_state_path("mlcluster")


def cache_directory() -> Path:
    """The toolchain, which can be built again: `$MLCLUSTER_CACHE_DIR`, else the user's cache directory."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given).absolute()
    from platformdirs import user_cache_path

    return user_cache_path("mlcluster")


def packaged(name: str) -> Path:
    """The shipped directory `stacks` or `templates`: inside the wheel, else beside the package in a checkout.

    The packaged place comes first: in site-packages a sibling `templates/` could belong to anyone.
    """
    package = Path(__file__).parent
    inside = package / "_data" / name
    return inside if inside.is_dir() else package.parent / name
