"""The figures of the eks target, on stand-ins for aws and eks: `python -m benchmarks.eks`, and part of `make bench`."""

import compileall
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.eks_specs import written
from benchmarks.measure import ROOT, ratio, timed

_RUNS = 5


def cold(name: str, spec: Path) -> None:
    """`validate` and `plan` as whole processes with byte code compiled, against starting Python: median and best."""
    python = timed([sys.executable, "-c", "pass"], runs=_RUNS)
    for verb in ("validate", "plan"):
        found = timed([sys.executable, "-m", "mlcluster", verb, str(spec)], runs=_RUNS)
        title = f"mlcluster {verb}, eks {name}, {found.memory_mib:.0f} MiB"
        ratio(title, found.median, f"python -c pass, median of {_RUNS}", python.median)
        ratio(f"    best of {_RUNS}", found.best, "python -c pass, best", python.best)


def main() -> None:
    """All specs: first what answers at once, then the engine, each spec in a process of its own."""
    for package in ("mlcluster", "stacks"):
        compileall.compile_dir(ROOT / package, quiet=1)
    load = os.getloadavg()[0]
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {load:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        specs = written(Path(folder))
        for name, spec in specs.items():
            cold(name, spec)
        sys.stdout.flush()
        for spec in specs.values():
            subprocess.run([sys.executable, "-m", "benchmarks.eks_engine", str(spec)], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
