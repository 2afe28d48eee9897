"""Objects of a chart archive, from the output of `helm template`."""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from mlcluster.errors import MlclusterError
from mlcluster.plan.chart_facts import FROM_CRDS
from mlcluster.plan.model import Manifest, PlanRelease

KUBERNETES = "1.35"
"""The version for a plan without a Kubernetes version."""

_APIS = ("monitoring.coreos.com/v1", "resource.k8s.io/v1")
"""API versions that charts with a ServiceMonitor or a DRA driver require to render."""

_SECONDS = 120
_SEPARATOR = re.compile(r"^---\s*$", re.MULTILINE)
_KIND = re.compile(r"^kind: *\"?(\w+)", re.MULTILINE)
_NAME = re.compile(r"^metadata:\n(?:  .*\n)*?  name: *\"?([^\s\"]+)", re.MULTILINE)
_KEEP = re.compile(r"^    \"?helm\.sh/resource-policy\"?: *\"?keep", re.MULTILINE)
_SOURCE = re.compile(r"^# Source: (\S+)", re.MULTILINE)
_UNREAD = frozenset({"PrometheusRule", "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"})
"""Kinds that are read only if they are Helm hooks; some objects are long."""


@dataclass(frozen=True, slots=True)
class Renderer:
    """Helm, and the Kubernetes version for which it renders."""

    helm: Path
    kubernetes: str = KUBERNETES

    def objects(self, release: PlanRelease, archive: Path) -> list[Manifest]:
        """Return the objects of an archive with the values of a release; CRDs have only name and annotations.

        Raises:
            MlclusterError: Helm cannot be run, or rejects the chart or its values.
        """
        return list(documents(self._rendered(release, archive)))

    def _rendered(self, release: PlanRelease, archive: Path) -> str:
        with tempfile.TemporaryDirectory(prefix="mlcluster-render-") as scratch:
            values = Path(scratch, "values.json")
            values.write_text(json.dumps(release.values), encoding="utf-8")
            argv: list[str | Path] = [
                self.helm,
                "template",
                release.name,
                archive.resolve(),
                "--namespace",
                release.namespace,
            ]
            argv += ["--include-crds", "--kube-version", self.kubernetes, "--values", values]
            argv += [f"--api-versions={api}" for api in _APIS]
            return _run(argv, f"rendering the chart {archive.name} of {release.id}", scratch)


def documents(text: str) -> Iterator[Manifest]:
    """Yield the objects of rendered YAML.

    The schemas of CRDs take megabytes, so their names are read from the text by regular expressions.
    """
    source = ""
    for part in _SEPARATOR.split(text):
        found, kind = _SOURCE.search(part), _KIND.search(part)
        source = found[1] if found else source  # a file that starts with --- is in the part after its name
        if kind is None or (kind[1] in _UNREAD and "helm.sh/hook" not in part):
            continue
        if kind[1] == "CustomResourceDefinition":
            yield _crd(part, source)
            continue
        document = yaml.load(part, yaml.CSafeLoader)
        yield from document["items"] if kind[1] == "List" else (document,)


def _crd(text: str, source: str) -> Manifest:
    annotations: dict[str, str] = {}
    name = _NAME.search(text)
    if "/templates/" not in source:
        annotations[FROM_CRDS] = "true"
    if _KEEP.search(text):
        annotations["helm.sh/resource-policy"] = "keep"
    found = name[1] if name else str(yaml.load(text, yaml.CSafeLoader)["metadata"]["name"])
    return {"kind": "CustomResourceDefinition", "metadata": {"name": found, "annotations": annotations}}


def _run(argv: Sequence[str | Path], doing: str, scratch: str) -> str:
    # Use a separate home: helm writes caches, and the user's plugins and kubeconfig must have no effect.
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": scratch, "TMPDIR": scratch, "KUBECONFIG": os.devnull}
    try:
        answer = subprocess.run(
            argv,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=environment,
            cwd=scratch,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        hint = "Check the archive: the template of a chart can be endless."
        raise MlclusterError(doing, f"Helm did not end within {_SECONDS} seconds", hint) from error
    except OSError as error:
        raise MlclusterError(doing, str(error), "Run `mlcluster doctor` to check Helm.") from error
    if answer.returncode != 0:
        happened = answer.stderr.strip()[-600:] or f"Helm ended with exit code {answer.returncode}"
        raise MlclusterError(doing, happened, "Check the archive and the values of the component in the spec.")
    return answer.stdout
