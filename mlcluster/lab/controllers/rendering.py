"""Rendering of a controller's manifests: a chart with helm, or a kustomization with kubectl."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlcluster.errors import MlclusterError

_SECONDS = 120


@dataclass(frozen=True)
class Programs:
    """The programs that render manifests."""

    helm: Path
    kubectl: Path


def helm(
    programs: Programs, release: str, chart: Path, namespace: str, values: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the objects of a chart with `values`, including its CRDs.

    Raises:
        MlclusterError: a program fails; the message contains the end of its output.
    """
    with tempfile.TemporaryDirectory(prefix="mlcluster-render-") as scratch:
        given = Path(scratch, "values.json")
        given.write_text(json.dumps(values))
        argv: list[str | Path] = [programs.helm, "template", release, chart, "-n", namespace, "--include-crds"]
        rendered = _run([*argv, "-f", given], release, scratch)
        return _parsed(programs, rendered, release, scratch)


def kustomize(programs: Programs, name: str, directory: Path) -> list[dict[str, Any]]:
    """Return the objects of a kustomization; for the errors see `helm`."""
    with tempfile.TemporaryDirectory(prefix="mlcluster-render-") as scratch:
        rendered = _run([programs.kubectl, "kustomize", directory], name, scratch)
        return _parsed(programs, rendered, name, scratch)


def plain(programs: Programs, name: str, files: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the objects of files that need no rendering; for the errors see `helm`."""
    text = "\n---\n".join(file.read_text() for file in files)
    with tempfile.TemporaryDirectory(prefix="mlcluster-render-") as scratch:
        return _parsed(programs, text, name, scratch)


def documents(text: str) -> list[dict[str, Any]]:
    """Return the concatenated JSON documents in `text`."""
    decoder, found, position = json.JSONDecoder(), [], 0
    text = text.strip()
    while position < len(text):
        document, position = decoder.raw_decode(text, position)
        found.append(document)
        while position < len(text) and text[position].isspace():
            position += 1
    return found


def _parsed(programs: Programs, text: str, name: str, scratch: str) -> list[dict[str, Any]]:
    """Return the rendered objects, which an empty local patch by kubectl converts from YAML to JSON.

    Kueue's CRDs have 1.7 MB, for which a YAML parser in Python takes ten times as long.
    """
    rendered = Path(scratch, "rendered.yaml")
    rendered.write_text(text)
    patch = ["--type=merge", "-p", "{}", "-o", "json"]
    return documents(_run([programs.kubectl, "patch", "--local", "-f", rendered, *patch], name, scratch))


def _run(argv: Sequence[str | Path], name: str, scratch: str) -> str:
    # Use a separate home: helm writes caches, and the user's plugins and kubeconfig must have no effect.
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": scratch, "TMPDIR": scratch, "KUBECONFIG": os.devnull}
    doing = f"rendering the manifests of {name} with {Path(argv[0]).name}"
    try:
        answer = subprocess.run(
            argv, capture_output=True, text=True, env=environment, cwd=scratch, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MlclusterError(doing, str(error), "Run `mlcluster doctor` to check the toolchain.") from error
    if answer.returncode != 0:
        raise MlclusterError(doing, answer.stderr.strip()[-600:] or f"exit code {answer.returncode}")
    return answer.stdout
