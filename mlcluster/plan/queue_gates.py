"""The admission policies on scheduling gates and suspension, by which Kueue keeps pods and jobs pending."""

from collections.abc import Mapping

from mlcluster.plan import job_kinds, names
from mlcluster.plan.held_work import NODE_NAME, RESOURCE_CLAIMS
from mlcluster.plan.policy import KUEUE_ONLY, Policy, asks_accelerator

SUBMIT = (
    "submit it through the team's queue: a Job, or a pod or Deployment that Kueue may hold back (see docs/submit.md)"
)
JOB_CONTROLLER = (
    "request.userInfo.username in ['system:serviceaccount:kube-system:job-controller',"
    " 'system:kube-controller-manager']"
)


def queue_gate(resources: list[str], users: Mapping[str, str]) -> Policy:
    """Return the policy that refuses a pod with accelerators and without Kueue's scheduling gate.

    Pods of a Job, an MPIJob or a RayCluster have no gate: Kueue holds them with their owner, whose controller makes
    them.

    Args:
        resources: accelerators by the names that pods ask for.
        users: component of the plan that makes things for teams -> the user that its controller is.
    """
    gated = (
        f"has(object.spec.schedulingGates) && object.spec.schedulingGates.exists(g, g.name == '{names.ADMISSION_GATE}')"
    )
    makes_pods = job_kinds.acts_for_owner(users, only=("mpi-operator", "kuberay-operator"))
    return Policy(
        name="mlcluster-queue-gate",
        rules=[{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
        variables={"podSpec": "object.spec", "asksAccelerator": asks_accelerator(resources, "variables.podSpec")},
        validations=[
            (
                "!has(object.spec.nodeName) || object.spec.nodeName == ''",
                NODE_NAME,
            ),
            ("!has(object.spec.resourceClaims)", RESOURCE_CLAIMS),
            (
                f"!variables.asksAccelerator || {gated} || ({JOB_CONTROLLER}) || {makes_pods}",
                f"a pod that asks for an accelerator must wait in the queue: {SUBMIT}",
            ),
        ],
        match_conditions={},
    )


def gate_removal(users: Mapping[str, str]) -> Policy:
    """Return the policy by which only Kueue removes its scheduling gates and resumes jobs.

    Args:
        users: component of the plan that makes things for teams -> the user that its controller is.
    """
    kinds = job_kinds.kinds_of(users)
    resumes = f"{job_kinds.acts_for_owner(users, 'oldObject')} && {job_kinds.acts_for_owner(users)}"
    held = "has({0}.spec.schedulingGates) && {0}.spec.schedulingGates.exists(g, g.name.startsWith('kueue.x-k8s.io/'))"
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["UPDATE"]}
    jobs = {"apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"], "operations": ["UPDATE"]}
    return Policy(
        name="mlcluster-gate-removal",
        rules=[pods, jobs, *job_kinds.rules(kinds, "UPDATE")],
        variables={},
        validations=[
            (
                f"object.kind != 'Pod' || !({held.format('oldObject')}) || ({held.format('object')})",
                "only Kueue takes its scheduling gate off, when the quota is there: wait for admission",
            ),
            (
                (
                    f"object.kind == 'Pod' || !{job_kinds.suspended('oldObject')} || {job_kinds.suspended('object')}"
                    f" || ({resumes})"
                ),
                "only Kueue resumes a job, when the quota is there: wait for admission",
            ),
        ],
        match_conditions={"not-kueue": f"!({KUEUE_ONLY})"},
    )
