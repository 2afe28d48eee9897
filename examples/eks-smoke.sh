#!/bin/sh
# The whole life cycle of an EKS cluster on a real account, from preflight to "nothing left". It creates real resources
# that cost money: read docs/eks-first-run.md first. It stops at the first failure and prints how to run `down`.
#
#   sh examples/eks-smoke.sh my-cluster.yaml
#
# EKS_SMOKE_YES=1          do not ask before creating resources
# EKS_SMOKE_IMAGE=IMAGE    for the GPU job; the node's runtime adds nvidia-smi to it
# EKS_SMOKE_MINUTES=30     time limit for the first GPU node, and again for the job
# EKS_SMOKE_PAUSE=15       seconds between two checks
# EKS_SMOKE_DELETE_KEPT=1  at the end also delete the resources that `down` keeps: the key of the secrets, file systems
set -eu

say() { printf '\n--- %s ---\n' "$*"; }
show() { printf '$ %s\n' "$*"; "$@"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

for program in mlcluster kubectl aws python3; do
    command -v "$program" >/dev/null || fail "$program is not on PATH; docs/eks-first-run.md lists the requirements"
done
python3 -c 'import yaml' 2>/dev/null || fail "python3 has no module yaml; activate the environment of mlcluster"

spec=${1:-}
if [ -z "$spec" ] && [ -t 0 ]; then
    printf 'Spec file: '
    read -r spec
fi
[ -n "$spec" ] || fail "name the spec file: sh examples/eks-smoke.sh FILE, or make eks-smoke SPEC=FILE"
[ -f "$spec" ] || fail "the file $spec does not exist"

work=$(mktemp -d)
stage="before anything was made"
made=no
finish() {
    code=$?
    rm -rf "$work"
    [ "$code" -eq 0 ] && return
    printf '\nStopped %s.\n' "$stage" >&2
    [ "$made" = no ] && return
    printf 'The cluster may exist and cost money. Run `mlcluster up %s` to continue, or delete it:\n' "$spec" >&2
    printf '  mlcluster down %s --plan\n  mlcluster down %s\n' "$spec" "$spec" >&2
}
trap finish EXIT
trap 'exit 130' INT TERM

# wait_for MINUTES WHAT COMMAND...
wait_for() {
    minutes=$1 what=$2
    shift 2
    until_then=$(($(date +%s) + minutes * 60))
    until "$@" >/dev/null 2>&1; do
        [ "$(date +%s)" -lt "$until_then" ] || fail "$what: not within $minutes minutes"
        sleep "${EKS_SMOKE_PAUSE:-15}"
    done
    printf '%s\n' "$what"
}

say "Check the spec"
show mlcluster validate "$spec"
show mlcluster plan "$spec"
mlcluster plan "$spec" --output json >"$work/plan.json"
python3 - "$work/plan.json" >"$work/facts" <<'PYTHON'
import json
import sys

plan = json.load(open(sys.argv[1], encoding="utf-8"))
if plan["cluster"]["target"] != "eks":
    sys.exit("error: this spec is not for the target eks")
pools = [pool for pool in plan["pools"] if pool["accelerator"] and pool["capacityType"] != "capacityBlock"]
found = [
    (team["namespace"], pool["name"], pool["accelerator"]["resource"])
    for pool in pools
    for team in plan["teams"]
    for quota in team["quotas"]
    if quota["pool"] == pool["name"] and quota["nominal"].get(pool["accelerator"]["resource"])
]
if not found:
    sys.exit("error: no team of this spec has a guarantee in a GPU pool, so no job could run")
kept = [f"--delete-retained {entry['id']}" for entry in plan["resources"] if entry["retained"]]
print(plan["cluster"]["name"], *found[0])
print(" ".join(kept))
PYTHON
{
    read -r name team pool resource
    read -r kept || kept=""
} <"$work/facts"

mlcluster status "$spec" --output json >"$work/status.json"
python3 - "$work/status.json" <<'PYTHON' || fail "$name is there already; this script needs a cluster that does not exist yet"
import json
import sys

sys.exit(json.load(open(sys.argv[1], encoding="utf-8"))["state"] != "absent")
PYTHON

say "Check the account"
show mlcluster preflight "$spec"
show mlcluster preview "$spec"

if [ "${EKS_SMOKE_YES:-}" != 1 ]; then
    [ -t 0 ] || fail "no terminal for the confirmation; set EKS_SMOKE_YES=1 to confirm"
    printf '\nThis creates all of these resources in AWS, which cost money until you delete them. Type %s to continue: ' "$name"
    read -r answer
    [ "$answer" = "$name" ] || fail "no resource was created"
fi

say "Up"
stage="while the cluster was made"
made=yes
show mlcluster up "$spec" --yes

say "Up again: expect no changes"
stage="at the second up"
mlcluster up "$spec" --yes --output jsonl >"$work/up.jsonl"
python3 - "$work/up.jsonl" >"$work/kubeconfig" <<'PYTHON'
import json
import sys

result = json.loads(open(sys.argv[1], encoding="utf-8").read().splitlines()[-1])
if result["changed"]:
    sys.exit(f"error: {result['changed']} changes where there should be none")
print(result["kubeconfig"])
PYTHON
KUBECONFIG=$(cat "$work/kubeconfig")
export KUBECONFIG
show kubectl get nodes -L node.kubernetes.io/instance-type,mlcluster.dev/pool
show kubectl get pods --all-namespaces
show kubectl get clusterqueues

say "A GPU job of team $team, through its queue, onto pool $pool"
stage="at the GPU job"
manifest=$(dirname "$0")/jobs/gpu-check.yaml
image=${EKS_SMOKE_IMAGE:-$(sed -n 's/^ *image: //p' "$manifest")}
sed -e "s|namespace: research|namespace: $team|" -e "s|nvidia.com/gpu: |$resource: |g" -e "s|image: .*|image: $image|" \
    "$manifest" >"$work/job.yaml"
patience=${EKS_SMOKE_MINUTES:-30}
show kubectl apply -f "$work/job.yaml"
wait_for 2 "admitted by its queue" \
    kubectl wait --for=condition=Admitted workload --all --namespace "$team" --timeout=5s
wait_for "$patience" "a node of pool $pool is ready" \
    kubectl wait --for=condition=Ready node --selector "mlcluster.dev/pool=$pool" --timeout=5s
wait_for "$patience" "the job is complete" \
    kubectl wait --for=condition=Complete job/gpu-check --namespace "$team" --timeout=5s
show kubectl logs job/gpu-check --namespace "$team"
show kubectl delete job gpu-check --namespace "$team"

say "A change: an additional label on pool $pool"
stage="at the change"
python3 - "$spec" "$pool" >"$work/changed.yaml" <<'PYTHON'
import sys

import yaml

spec = yaml.safe_load(open(sys.argv[1], encoding="utf-8"))
pool = next(pool for pool in spec["nodePools"] if pool["name"] == sys.argv[2])
pool.setdefault("labels", {})["example.com/smoke"] = "yes"
print(yaml.safe_dump(spec, sort_keys=False))
PYTHON
show mlcluster preview "$work/changed.yaml"
show mlcluster up "$work/changed.yaml" --yes
show mlcluster status "$work/changed.yaml"

say "Down"
stage="while the cluster was being deleted"
show mlcluster down "$spec" --plan
[ "${EKS_SMOKE_DELETE_KEPT:-}" = 1 ] || kept=""
# shellcheck disable=SC2086 # several options, none with a space
mlcluster down "$spec" --yes $kept >"$work/down.txt" || { cat "$work/down.txt"; fail "something is left, see above"; }
cat "$work/down.txt"
stage="after down, which did not say that nothing is left"
grep -q "nothing left" "$work/down.txt" || fail "the account may still have resources: run down again with credentials"
made=no
