"""Download of the charts that the catalog pins into a directory: `make charts`."""

import argparse
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from mlcluster.catalog.components import ComponentPin, pins
from mlcluster.charts.archives import archives, exact
from mlcluster.charts.pods import pull_command
from mlcluster.lab.toolchain.find import find_tool


def pull(helm: Path, wanted: Iterable[ComponentPin], directory: Path) -> list[str]:
    """Pull each chart that the directory lacks and print its name; return a text for each failure."""
    directory.mkdir(exist_ok=True)
    failed = list[str]()
    for pin in wanted:
        if exact(archives(directory), pin.chart, pin.version) is not None:
            continue
        print(f"{pin.name} {pin.version}", flush=True)
        command = pull_command(pin.chart, pin.version, pin.repository).split()[1:]
        answer = subprocess.run([helm, *command, "-d", directory], capture_output=True, text=True, check=False)
        if answer.returncode:
            failed.append(f"{pin.name} {pin.version}: {answer.stderr.strip()[-300:]}")
    return failed


def main(arguments: list[str] | None = None) -> int:
    """Pull every pinned chart into a directory, and return the exit code: 1 if a chart is still missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    directory = parser.parse_args(arguments).directory
    helm = find_tool("helm")
    if helm is None:
        print("no Helm: install Helm 3, or run `mlcluster lab build`", file=sys.stderr)
        return 1
    failed = pull(helm, (pin for pin in pins().values() if pin.chart), directory)
    for line in failed:
        print(f"cannot pull {line}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
