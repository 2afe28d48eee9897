#!/bin/sh
# A tour of the cluster that `make lab` has created. You can also type every command yourself.
set -eu
kubectl() { mlcluster lab kubectl -- "$@"; }
show() { printf '\n$ %s\n' "$*"; "$@"; }
until_admitted() {
    kubectl wait --for=condition=Admitted workload --all --namespace "$1" --timeout=60s >/dev/null
}

printf '\n--- The cluster: real control plane, simulated nodes ---\n'
show mlcluster status examples/lab.yaml
show kubectl get nodes -L node.kubernetes.io/instance-type,mlcluster.dev/pool

printf '\n--- A gang of 4 x 8 GPUs through the queue of team research ---\n'
show kubectl apply -f examples/jobs/train.yaml
until_admitted research
kubectl wait --for=condition=Ready pod --all --namespace research --timeout=60s >/dev/null
show kubectl get workloads,pods --namespace research -o wide

printf '\n--- More than team products may use: the Job is pending, with a reason ---\n'
show kubectl apply -f examples/jobs/too-big.yaml
kubectl wait --for=condition=QuotaReserved=false workload --all --namespace products --timeout=60s >/dev/null
show kubectl get workloads --namespace products \
    -o 'jsonpath={.items[0].status.conditions[?(@.type=="QuotaReserved")].message}{"\n"}'

printf '\nThe lab keeps running. Inspect it with `mlcluster lab kubectl -- get all -A`;\n'
printf 'delete it with `make down`.\n'
