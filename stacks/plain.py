"""For `pulumi up` in a stack's own folder, without mlcluster's command line: what to register comes from the config.

    pulumi config set mlcluster:spec ../../cluster.yaml        the spec, relative to the stack's folder
    pulumi config set mlcluster:kubeconfig ~/.kube/config
    pulumi config set mlcluster:context NAME                   default: the current context
    pulumi config set mlcluster:clusterUid UID                 kubectl get ns kube-system -o jsonpath={.metadata.uid}

mlcluster must be importable by the project's Python. This way needs Pulumi's Python language host, which no package
registry offers: it was not run where mlcluster was built. These modules were, by the real engine as an inline program.
"""

from pathlib import Path
from typing import Any, Protocol

import pulumi

from mlcluster.plan import build
from mlcluster.spec.load import load


class Program(Protocol):
    """The function `program` of a stack."""

    def __call__(self, plan: Any, *, kubeconfig: str, context: str | None, cluster_uid: str) -> None: ...


def run(program: Program) -> None:
    """Builds the plan of the configured spec and registers it."""
    config = pulumi.Config("mlcluster")
    plan = build(load(Path(config.require("spec")).expanduser()).spec)
    kubeconfig = str(Path(config.require("kubeconfig")).expanduser().absolute())
    program(plan, kubeconfig=kubeconfig, context=config.get("context"), cluster_uid=config.require("clusterUid"))
