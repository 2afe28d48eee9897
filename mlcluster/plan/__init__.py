"""From a spec to the plan.

The plan is the center of the program: frozen data that holds every pool, release and Kubernetes object of the cluster.
The Pulumi programs in `stacks/` register it, `report` prints it, `rules` check it; none of them makes decisions.
`build` is the only way to make a plan, and it is pure: the same spec gives the same plan, byte for byte.

    pools            instance facts, labels, allocatable and usable amounts, prices
    taints           taints of nodes, tolerations of pods, and how both are written
    quota            guarantees, limits and the remainder, as amounts per pool
    queues, tiers    Kueue's objects made of them
    namespaces       objects in the namespace of each team
    admission        the policies that enforce the quota
    components       releases and the shapes of their pods
    simulated_nodes  the nodes of the `local` target
"""

from mlcluster.plan.build import build

__all__ = ["build"]
