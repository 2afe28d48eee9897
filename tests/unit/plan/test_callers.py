"""Connections from components to pods of teams: NetworkPolicies allow exactly those that controllers make.

The table was read in the sources of the pinned versions, not in the code of mlcluster.
"""

import re
from dataclasses import dataclass, replace
from itertools import combinations

import pytest

from mlcluster.plan.model import Manifest, Plan
from mlcluster.plan.observe.counters import FIELDS
from mlcluster.plan.observe.metrics import GPU_OPERATOR, KUBE_STATE_METRICS, KUEUE
from mlcluster.plan.observe.series import COUNTED
from tests.network_policies import Pod, accepts
from tests.specs import EXISTING, LOCAL, SYSTEM, TRAIN, Data, manifests, planned

pytestmark = pytest.mark.unit

RAY_HEAD = Pod("research", {"ray.io/node-type": "head", "ray.io/cluster": "tune"}, {"dashboard": 8265, "metrics": 8080})
RAY_WORKER = Pod("research", {"ray.io/node-type": "worker", "ray.io/cluster": "tune"}, {"metrics": 8080})
MODEL = Pod("research", {"serving.kserve.io/inferenceservice": "chat", "app": "isvc.chat-predictor"})
EXPORTER = Pod("research", {"app": "trainer"}, {"metrics": 9400})
NOTEBOOK = Pod("research", {"app": "notebook"}, {"http": 8888})
TEAM_PODS = (RAY_HEAD, RAY_WORKER, MODEL, EXPORTER, NOTEBOOK)

KUBERAY = Pod(
    "kuberay", {"app.kubernetes.io/name": "kuberay-operator", "app.kubernetes.io/instance": "kuberay-operator"}
)
ENVOY = Pod(
    "envoy-gateway-system",
    {
        "app.kubernetes.io/name": "envoy",
        "app.kubernetes.io/component": "proxy",
        "app.kubernetes.io/managed-by": "envoy-gateway",
        "gateway.envoyproxy.io/owning-gateway-name": "kserve-ingress-gateway",
        "gateway.envoyproxy.io/owning-gateway-namespace": "kserve",
    },
)
PROMETHEUS = Pod(
    "monitoring", {"app.kubernetes.io/name": "prometheus", "app.kubernetes.io/managed-by": "prometheus-operator"}
)
OTHER_GATEWAY = replace(ENVOY, labels={**ENVOY.labels, "gateway.envoyproxy.io/owning-gateway-name": "web"})
STRANGERS = (
    Pod("students", {"app": "notebook"}, namespace_labels={"mlcluster.dev/team": "students"}),
    Pod("students", dict(KUBERAY.labels), namespace_labels={"mlcluster.dev/team": "students"}),
    Pod("students", dict(PROMETHEUS.labels), namespace_labels={"mlcluster.dev/team": "students"}),
    Pod("kuberay", {"app": "shell"}),
    Pod("monitoring", {"app.kubernetes.io/name": "grafana"}),
    Pod("envoy-gateway-system", {"control-plane": "envoy-gateway"}),
    Pod("kserve", {"control-plane": "kserve-controller-manager"}),
    Pod("kubeflow-system", {"app.kubernetes.io/name": "kubeflow-trainer"}),
    Pod("jobset-system", {"app.kubernetes.io/name": "jobset"}),
    Pod("mpi-operator", {"app": "mpi-operator"}),
    Pod("volcano-system", {"app": "volcano-controller"}),
    Pod("keda", {"app": "keda-operator"}),
    Pod("default", {}),
    OTHER_GATEWAY,
)
PORTS = (22, 80, 6379, 8000, 8080, 8265, 8443, 8888, 9081, 9400, 10001, 52365)


@dataclass(frozen=True, slots=True)
class Call:
    """A connection that a component makes to pods of teams.

    Attributes:
        source: where the caller's labels, the callee's label and the port were read.
    """

    component: str
    caller: Pod
    callee: Pod
    port: int
    source: str


PROMETHEUS_SOURCE = (
    "prometheus-operator v0.93 pkg/prometheus/common.go (labels of the pods); KubeRay v1.6.2"
    " ray-operator/controllers/ray/common/pod.go (the port `metrics` of every Ray container)"
)
KSERVE_SOURCE = (
    "Envoy Gateway v1.9.0 internal/infrastructure/kubernetes/proxy/testdata/deployments/default.yaml (labels);"
    " KServe v0.20.0 pkg/constants/constants.go, pkg/controller/v1beta1/inferenceservice/reconcilers/service"
)
CALLS = (
    Call(
        "kubeRay",
        KUBERAY,
        RAY_HEAD,
        8265,
        "KubeRay v1.6.2 helm-chart/kuberay-operator/templates/deployment.yaml; FetchHeadServiceURL in"
        " ray-operator/controllers/ray/utils/util.go, called by rayjob_controller.go for the dashboard",
    ),
    Call("kserve", ENVOY, MODEL, 8080, f"{KSERVE_SOURCE}: InferenceServiceDefaultHttpPort"),
    Call("kserve", ENVOY, MODEL, 9081, f"{KSERVE_SOURCE}: InferenceServiceDefaultAgentPort, with a logger or batcher"),
    Call("monitoring", PROMETHEUS, RAY_HEAD, 8080, PROMETHEUS_SOURCE),
    Call("monitoring", PROMETHEUS, RAY_WORKER, 8080, PROMETHEUS_SOURCE),
    Call("monitoring", PROMETHEUS, EXPORTER, 9400, "docs/tenancy.md: a container port with the name `metrics`"),
)
"""Which controller connects to which pod of a team, on which port.

Controllers that connect to none: JobSet v0.12.0, Kubeflow Trainer v2.3.0, MPI Operator v0.8.2 (its launcher reaches the
workers by SSH inside the namespace), Volcano v1.15.3, Kueue v0.18.3, and KServe's own controller (v0.20.0: there is no
HTTP client in pkg/controller). KubeRay connects to 8000 and 52365 for RayServices only, which members cannot create.
KEDA v2.20.2 connects to the address in a trigger of a team, which the team has to allow itself.
"""

COMPONENTS: Data = {
    "kubeRay": {},
    "kserve": {"ingress": {"domain": "models.example.com"}},
    "monitoring": {},
    "trainer": {},
    "mpiOperator": {},
    "keda": {},
}
TEAMS: list[Data] = [{"name": "research"}, {"name": "students"}]


def plan_of(names: tuple[str, ...], target: Data = EXISTING) -> Plan:
    return planned(SYSTEM, TRAIN, target=target, components={name: COMPONENTS[name] for name in names}, teams=TEAMS)


def policies_of(plan: Plan) -> list[Manifest]:
    return list(manifests(plan, "NetworkPolicy").values())


def subsets() -> list[tuple[str, ...]]:
    named = ("kubeRay", "kserve", "monitoring")
    return [*(chosen for size in range(len(named) + 1) for chosen in combinations(named, size)), tuple(COMPONENTS)]


@pytest.mark.parametrize("names", subsets(), ids="+".join)
@pytest.mark.parametrize("target", [EXISTING, LOCAL], ids=["existing", "local"])
def test_policies_allow_exactly_the_calls_of_the_components(names: tuple[str, ...], target: Data) -> None:
    policies = policies_of(plan_of(names, target))
    needed = {(id(call.caller), id(call.callee), call.port) for call in CALLS if call.component in names}
    opened = {
        (id(caller), id(callee), port)
        for caller in (KUBERAY, ENVOY, PROMETHEUS, *STRANGERS)
        for callee in TEAM_PODS
        for port in (*PORTS, *callee.ports.values())
        if accepts(policies, callee, caller, port)
    }
    assert opened == needed


@pytest.mark.parametrize("port", PORTS)
def test_pods_of_a_team_reach_each_other(port: int) -> None:
    policies = policies_of(plan_of(tuple(COMPONENTS)))
    assert all(accepts(policies, callee, caller, port) for callee in TEAM_PODS for caller in TEAM_PODS)


def test_an_existing_prometheus_is_found_by_its_address() -> None:
    for url, namespace in (
        ("http://prometheus.observability.svc:9090", "observability"),
        ("http://prometheus.observability.svc.cluster.local:9090", "observability"),
        ("https://prometheus.example.com", "rules"),
        (None, "rules"),
    ):
        there = {"namespace": "rules", **({"prometheusUrl": url} if url else {})}
        components = {"monitoring": {"install": False, "prometheus": there}}
        plan = planned(SYSTEM, TRAIN, target=EXISTING, components=components, teams=TEAMS)
        for other in ("observability", "rules", "monitoring"):
            caller = replace(PROMETHEUS, namespace=other)
            assert accepts(policies_of(plan), EXPORTER, caller, 9400) == (other == namespace)


def test_an_existing_kuberay_operator_calls_from_its_own_namespace() -> None:
    there = {"install": False, "serviceAccount": "ray-system/operator"}
    plan = planned(SYSTEM, TRAIN, target=EXISTING, components={"kubeRay": there}, teams=TEAMS)
    assert accepts(policies_of(plan), RAY_HEAD, replace(KUBERAY, namespace="ray-system"), 8265)
    assert not accepts(policies_of(plan), RAY_HEAD, KUBERAY, 8265)


def test_prometheus_scrapes_the_ports_that_the_policies_open() -> None:
    spec = team_monitor()
    assert spec["namespaceSelector"] == {"matchNames": ["research", "students"]}
    assert [endpoint["port"] for endpoint in spec["podMetricsEndpoints"]] == ["metrics"]


STACK = (
    "apiserver_request:burnrate1h",  # KubeAPIErrorBudgetBurn
    "namespace_cpu:kube_pod_container_resource_requests:sum",  # KubeCPUOvercommit
    "cluster:node_cpu:sum_rate5m",
    ":node_memory_MemAvailable_bytes:sum",
    "kubernetes_build_info",  # KubeVersionMismatch
    "up",  # TargetDown
)
"""Metrics that alerts of kube-prometheus-stack 88.5.3 read from any exporter."""


@pytest.mark.parametrize(
    "metric",
    sorted({*KUBE_STATE_METRICS, *KUEUE, *GPU_OPERATOR, *FIELDS, *COUNTED.values(), *STACK, "up_to_date", "loss"}),
)
def test_pods_of_a_team_cannot_forge_the_metrics_of_rules_and_dashboards(metric: str) -> None:
    (endpoint,) = team_monitor()["podMetricsEndpoints"]
    dropped = [
        re.fullmatch(relabeling["regex"], metric)
        for relabeling in endpoint["metricRelabelings"]
        if relabeling["action"] == "drop" and relabeling["sourceLabels"] == ["__name__"]
    ]
    assert any(dropped) == (metric not in {"up_to_date", "loss"})
    assert not endpoint.get("honorLabels")
    assert team_monitor()["sampleLimit"]


def test_a_pod_of_a_team_cannot_send_prometheus_elsewhere() -> None:
    """Prometheus follows redirects by default, and its namespace has no NetworkPolicy."""
    (endpoint,) = team_monitor()["podMetricsEndpoints"]
    assert endpoint["followRedirects"] is False


def test_a_pod_of_a_team_cannot_fill_the_memory_of_prometheus_with_one_scrape() -> None:
    """Without a limit Prometheus keeps the whole answer, unpacked, before it counts samples."""
    assert team_monitor()["bodySizeLimit"] == "10MB"


def team_monitor() -> Manifest:
    """Return the spec of the PodMonitor for pods of teams."""
    (monitor,) = manifests(plan_of(("monitoring",)), "PodMonitor").values()
    spec: Manifest = monitor["spec"]
    return spec
