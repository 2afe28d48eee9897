"""Renders Kueue's chart with helm, for a given configuration."""

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlcluster.errors import MlclusterError
from mlcluster.lab.kueue import NAMESPACE

_SECONDS = 120


def render(helm: Path, kubectl: Path, chart: Path, config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The objects of the chart. `config` decides the namespaceSelector and failurePolicy of the webhooks.

    kubectl turns helm's YAML into JSON (an empty patch, locally): the definitions are 1.7 MB, for which a parser in
    Python takes ten times as long.

    Raises:
        MlclusterError: one of the programs fails, with the end of what it said.
    """
    with tempfile.TemporaryDirectory(prefix="mlcluster-kueue-") as scratch:
        values, rendered = Path(scratch, "config.json"), Path(scratch, "rendered.yaml")
        values.write_text(json.dumps(config))
        setting = f"managerConfig.controllerManagerConfigYaml={values}"
        text = _run([helm, "template", "kueue", chart, "-n", NAMESPACE, "--set-file", setting], scratch)
        rendered.write_text(text)
        return documents(
            _run([kubectl, "patch", "--local", "-f", rendered, "--type=merge", "-p", "{}", "-o", "json"], scratch)
        )


def documents(text: str) -> list[dict[str, Any]]:
    """The JSON documents that stand one after the other in `text`."""
    decoder, found, position = json.JSONDecoder(), [], 0
    text = text.strip()
    while position < len(text):
        document, position = decoder.raw_decode(text, position)
        found.append(document)
        while position < len(text) and text[position].isspace():
            position += 1
    return found


def _run(argv: Sequence[str | Path], scratch: str) -> str:
    # A home of its own: helm writes caches, and a user's plugins or kubeconfig must not matter.
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": scratch, "TMPDIR": scratch, "KUBECONFIG": os.devnull}
    doing = f"rendering Kueue's chart with {Path(argv[0]).name}"
    try:
        answer = subprocess.run(
            argv, capture_output=True, text=True, env=environment, cwd=scratch, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MlclusterError(doing, str(error), "`mlcluster doctor` looks at the toolchain") from error
    if answer.returncode != 0:
        raise MlclusterError(doing, answer.stderr.strip()[-600:] or f"exit code {answer.returncode}")
    return answer.stdout
