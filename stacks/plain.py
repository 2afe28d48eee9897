"""Entry point for `pulumi up` in the directory of a stack, without mlcluster's command line: the config has the plan.

    pulumi config set mlcluster:spec ../../cluster.yaml        the spec, relative to the stack's folder

stacks/platform and stacks/local, which work on a cluster that is there:

    pulumi config set mlcluster:kubeconfig ~/.kube/config
    pulumi config set mlcluster:context NAME                   default: the current context
    pulumi config set mlcluster:clusterUid UID                 kubectl get ns kube-system -o jsonpath={.metadata.uid}
    pulumi config set mlcluster:values JSON                    on `eks`: the output `values` of stacks/eks

Before an object that needs a component is made, stacks/platform asks the cluster whether the component's definitions
are Established and its webhook answers, as `mlcluster up` does; the same kubeconfig is read for that.

stacks/eks, which makes one, takes region, account and profile from the spec's target. Its kubeconfig and values for the
platform are outputs:

    pulumi stack output kubeconfig --show-secrets > kubeconfig.json
    pulumi -C ../platform config set mlcluster:values "$(pulumi stack output values --json)"

mlcluster must be importable by the project's Python. This way needs Pulumi's Python language host, which no package
registry offers: it was not run where mlcluster was built. These modules were, by the real engine as an inline program.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulumi

from mlcluster.plan import build
from mlcluster.plan.model import Plan
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.load import load

if TYPE_CHECKING:
    from mlcluster.kube.gates import Gates

Program = Callable[..., None]
"""The function `program` of a stack; with its own arguments by keyword."""


def run(program: Program, *, waits: bool = False) -> None:
    """Builds the plan of the configured spec and registers it on the configured cluster.

    Args:
        program: of the stack.
        waits: the program takes `ready`, and waits for releases until they answer.
    """
    config = pulumi.Config("mlcluster")
    plan = build(_spec(config))
    kubeconfig = str(Path(config.require("kubeconfig")).expanduser().absolute())
    values = config.get_object("values")
    more: dict[str, Any] = {} if values is None else {"values": values}
    if waits and not pulumi.runtime.is_dry_run():
        more["ready"] = _gates(plan, Path(kubeconfig), config.get("context"))
    uid = config.require("clusterUid")
    program(plan, kubeconfig=kubeconfig, context=config.get("context"), cluster_uid=uid, **more)


def run_eks(program: Program) -> None:
    """Builds the plan of the configured spec and registers its cloud half.

    Raises:
        TypeError: the spec's target is not eks.
    """
    spec = _spec(pulumi.Config("mlcluster"))
    target = spec.target
    if not isinstance(target, EksTarget):
        raise TypeError(f"the target of the spec is {target.kind}, not eks")
    program(build(spec), region=target.region, account_id=target.account_id, profile=target.profile)


def _gates(plan: Plan, kubeconfig: Path, context: str | None) -> "Gates":
    """Return the client, which stays open: the program continues after this module."""
    from mlcluster.kube.client import Kube
    from mlcluster.kube.gates import Gates

    return Gates(Kube.from_kubeconfig(kubeconfig, context), [*plan.releases, *plan.defining_objects], pulumi.log.info)


def _spec(config: pulumi.Config) -> ClusterSpec:
    return load(Path(config.require("spec")).expanduser()).spec
