"""The command line must start quickly: the engine is imported, pulumi is not."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("module", ["engine", "events", "home", "locks", "failures", "programs", "recovery"])
def test_importing_the_engine_does_not_import_pulumi(module: str) -> None:
    code = (
        f"import sys, mlcluster.engine.{module}; "
        "print([name for name in ('pulumi', 'grpc', 'psutil') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
