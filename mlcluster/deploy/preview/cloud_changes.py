"""Changes of a live cluster that the aws provider accepts and AWS never makes, or makes otherwise.

Read in terraform-provider-aws (internal/service/eks), which the aws provider of Pulumi is built from:

- cluster.go, resourceClusterUpdate: a change of `encryption_config` is sent only where there was none before
  (AssociateEncryptionConfig). Another key is accepted and never sent, so every `up` reports the same success;
- cluster.go, CustomizeDiff: taking `encryption_config` away replaces the control plane, which the plan never asks for:
  without `secretsKey` it holds a key of its own;
- node_group.go, resourceNodeGroupUpdate: `release_version` is sent only if it changed. With a new launch template alone
  EKS takes the newest release of the AMI (EKS API reference, UpdateNodegroupVersion, releaseVersion).

Inputs that are Optional and Computed keep their value when they are taken away, without a difference. The plan gives
those that a spec can empty an explicit default: `kubernetesGroups`, `publicAccessCidrs`, `configurationValues`, and the
size, IOPS and throughput of a root volume (tests/fakes/remembered_values.py has the list).
"""

from collections.abc import Iterable, Iterator

from mlcluster.deploy.session.cloud_stack import CONTROL_PLANE
from mlcluster.deploy.session.stack import Stack
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.engine.events import Change, Changes
from mlcluster.findings import Finding, finding
from mlcluster.plan.eks.control_plane import KEY, secrets_key_id
from mlcluster.plan.eks.node_groups import NODE_GROUP
from mlcluster.spec.eks import EksTarget

_KEY_PATH = ("target", "secretsKey")


def key_findings(workspace: Workspace, stack: Stack) -> tuple[Finding, ...]:
    """Return AWS013 where the spec wants another key for Kubernetes secrets than the live control plane has."""
    recorded, wanted = _recorded_key(stack), _wanted_key(workspace, stack)
    if not recorded or recorded == wanted:
        return ()
    return (_other_key(workspace, stack, recorded),)


def change_findings(workspace: Workspace, stacks: Iterable[Stack], previews: Iterable[Changes]) -> tuple[Finding, ...]:
    """Return AWS013 and VER004 for the engine's preview after a refresh from AWS."""
    made: list[Finding] = []
    for stack, changes in zip(stacks, previews, strict=True):
        for change in changes.effective:
            if change.type == CONTROL_PLANE and _touches(change, "encryptionConfig"):
                made += _key_changes(workspace, stack, change)
            elif change.type == NODE_GROUP:
                made += _image_changes(workspace, change)
    return tuple(dict.fromkeys(made))


def _recorded_key(stack: Stack) -> str:
    """Return the ARN of the key that the control plane uses, as the state records it; "" without one."""
    for outputs in stack.engine.outputs_of(CONTROL_PLANE).values():
        config = outputs.get("encryptionConfig") or {}
        return str((config.get("provider") or {}).get("keyArn") or "")
    return ""


def _wanted_key(workspace: Workspace, stack: Stack) -> str:
    """Return the ARN of the key that the plan gives the control plane; "" for a key that is still to be made."""
    target = workspace.spec.target
    if isinstance(target, EksTarget) and target.secrets_key:
        return target.secrets_key
    return _own_keys(workspace, stack).get("arn", "")


def _own_keys(workspace: Workspace, stack: Stack) -> dict[str, str]:
    """Return the state's record of the KMS key that mlcluster creates for secrets; {} if it has none."""
    identifier = secrets_key_id(workspace.spec.metadata.name)
    return {key: str(value) for key, value in stack.engine.outputs_of(KEY).get(identifier, {}).items()}


def _other_key(workspace: Workspace, stack: Stack, recorded: str) -> Finding:
    target = workspace.spec.target
    given = target.secrets_key if isinstance(target, EksTarget) else None
    wanted = given or "a new key that mlcluster would make"
    own = _own_keys(workspace, stack).get("arn") == recorded
    message = (
        f"EKS encrypts the Kubernetes secrets of this cluster with {recorded} and never changes to {wanted}: "
        "a key stays for the life of a cluster"
    )
    repair = "Remove target.secretsKey" if own else f"Set target.secretsKey: {recorded}"
    return finding("AWS013", _KEY_PATH, message, f"{repair}, or make a new cluster with the other key.")


def _key_changes(workspace: Workspace, stack: Stack, change: Change) -> Iterator[Finding]:
    """Another key in place; a key for a cluster without one is applied, and a new control plane takes any."""
    recorded = _recorded_key(stack)
    if change.op != "update" or not recorded:
        return
    if recorded != _wanted_key(workspace, stack):
        yield _other_key(workspace, stack, recorded)
        return
    message = (
        f"AWS reports another key for Kubernetes secrets than {recorded}, or that key is gone; EKS never changes it"
    )
    hint = "Set target.secretsKey to the key that `aws eks describe-cluster` shows, or make a new cluster."
    yield finding("AWS013", _KEY_PATH, message, hint)


def _image_changes(workspace: Workspace, change: Change) -> Iterator[Finding]:
    if change.op != "update" or not _touches(change, "launchTemplate"):
        return
    if _touches(change, "releaseVersion") or _touches(change, "version"):
        return
    planned = next((entry for entry in workspace.plan.resources if entry.id == change.id), None)
    release = planned.inputs.get("releaseVersion") if planned is not None else None
    if planned is None or release is None:
        return
    message = (
        f"the nodes of pool {planned.pool} get a new launch template, and EKS then starts them from the newest AMI "
        f"release, not from the pinned {release}"
    )
    hint = "Run `mlcluster preview` afterwards: it shows the release that EKS chose."
    yield finding("VER004", planned.spec_path, message, hint)


def _touches(change: Change, name: str) -> bool:
    return any(path == name or path.startswith((f"{name}.", f"{name}[")) for path in change.paths)
