"""From a spec to the plan.

The plan is the centre of the program: frozen data that holds every pool, release and Kubernetes object of the cluster.
The Pulumi programs in `stacks/` register what it holds, `report` prints it, `rules` prove it; none of them decides
anything. `build` is the one way to make a plan, and it is pure: the same spec gives the same plan, byte for byte.

    pools            instance facts, labels, allocatable and usable amounts, prices
    taints           taints of nodes, tolerations of pods, and how both are written
    quota            guarantees, limits and the remainder, as amounts per pool
    queues, tiers    Kueue's objects made of them
    namespaces       what each team's namespace holds
    admission        the policies that leave no way round the quota
    components       releases and the shapes of their pods
    simulated_nodes  the nodes of the `local` target
"""

from mlcluster.plan.build import build

__all__ = ["build"]
