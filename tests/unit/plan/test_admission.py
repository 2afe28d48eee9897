"""The admission policies: matched requests, messages, and complete CEL.

tests/lab/promise checks with a real API server that they reject attacks.
"""

import re
from collections.abc import Iterator

import pytest

from mlcluster.plan import names
from mlcluster.plan.model import Manifest
from tests.specs import SHARED, SYSTEM, TRAIN, manifests, planned

pytestmark = pytest.mark.unit

PAIRS = {")": "(", "]": "[", "}": "{"}
EXPECTED: dict[str, tuple[str, set[str], set[str]]] = {
    # name: (part of a message, resources, operations)
    "mlcluster-queue-gate": ("must wait in the queue", {"pods"}, {"CREATE"}),
    "mlcluster-gate-removal": ("only Kueue removes its scheduling gate", {"pods", "jobs"}, {"UPDATE"}),
    "mlcluster-owner-references": ("only a controller may name", {"pods", "jobs"}, {"CREATE", "UPDATE"}),
    "mlcluster-gpu-nodes": ("GPU nodes are for GPU pods", {"pods", "daemonsets"}, {"CREATE", "UPDATE"}),
    "mlcluster-tiers": ("refused by the policy mlcluster-tiers", {"pods", "cronjobs"}, {"CREATE", "UPDATE"}),
    "mlcluster-team-boundaries": (
        "mlcluster manages this object",
        {"resourcequotas", "limitranges", "networkpolicies", "rolebindings", "localqueues"},
        {"CREATE", "UPDATE", "DELETE"},
    ),
    "mlcluster-kueue-marks": ("only Kueue writes the labels", {"pods", "jobs", "cronjobs"}, {"CREATE", "UPDATE"}),
    "mlcluster-adoption": ("no controller may adopt it", {"pods", "replicasets", "jobs"}, {"UPDATE"}),
    "mlcluster-fixed-replicas": (
        "counted with its replicas",
        {"statefulsets/scale", "horizontalpodautoscalers"},
        {"CREATE", "UPDATE"},
    ),
    "mlcluster-grace-periods": (
        "see docs/submit.md",
        {"pods", "pods/eviction", "replicationcontrollers"},
        {"CREATE", "UPDATE", "DELETE"},
    ),
    "mlcluster-finalizers": ("remove it", {"*"}, {"CREATE", "UPDATE"}),
    "mlcluster-copied-finalizers": ("also in a template", {"pods", "statefulsets"}, {"CREATE", "UPDATE"}),
    "mlcluster-pod-affinity": ("remove namespaces and", {"pods", "deployments"}, {"CREATE", "UPDATE"}),
    "mlcluster-pod-networks": ("its own namespace only", {"pods", "deployments"}, {"CREATE", "UPDATE"}),
    "mlcluster-disruption-budgets": ("must stay drainable", {"poddisruptionbudgets"}, {"CREATE", "UPDATE"}),
    "mlcluster-device-access": ("requests for GPUs decide", {"pods", "deployments"}, {"CREATE", "UPDATE"}),
    "mlcluster-pod-size": ("see docs/submit.md", {"pods", "deployments"}, {"CREATE", "UPDATE"}),
    "mlcluster-counted-as-used": (
        "Kueue counts requests",
        {"pods", "jobs", "cronjobs", "statefulsets"},
        {"CREATE", "UPDATE"},
    ),
    "mlcluster-held-work": ("Kueue did not suspend this object", {"jobs"}, {"CREATE"}),
    "mlcluster-as-submitted": ("a running Job has been counted", {"jobs"}, {"UPDATE"}),
    "mlcluster-stays-together": ("and deleted with it", {"pods", "jobs"}, {"CREATE", "UPDATE", "DELETE"}),
    "mlcluster-services": ("CVE-2020-8554", {"services", "ingresses"}, {"CREATE", "UPDATE"}),
    "mlcluster-events": ("only controllers write Events", {"events"}, {"CREATE", "UPDATE"}),
    "mlcluster-role-bindings": ("let all users of the cluster in", {"rolebindings"}, {"CREATE", "UPDATE"}),
}  # fmt: skip


@pytest.fixture(scope="module")
def policies() -> dict[str, Manifest]:
    """Return the policies of a cluster with whole GPUs and MIG."""
    return manifests(planned(SYSTEM, TRAIN, SHARED), "ValidatingAdmissionPolicy")


def expressions(policy: Manifest) -> Iterator[str]:
    """Yield every CEL expression of a policy, each on one line."""
    spec = policy["spec"]
    found = [entry for part in ("variables", "matchConditions", "validations") for entry in spec.get(part, [])]
    yield from (one_line(entry["expression"]) for entry in found)
    yield from (one_line(entry["messageExpression"]) for entry in found if "messageExpression" in entry)


def one_line(cel: str) -> str:
    """Return an expression without its line breaks; no string in the policies has one."""
    return " ".join(cel.split())


def unbalanced(cel: str) -> str:
    """Return why an expression is incomplete, else "". It handles strings in single quotes."""
    bare = re.sub(r"'[^'\n]*'", "''", cel)
    if bare.count("'") % 2:
        return "a string is not closed"
    stack: list[str] = []
    for character in bare:
        if character in PAIRS.values():
            stack.append(character)
        elif character in PAIRS and (not stack or stack.pop() != PAIRS[character]):
            return f"{character} closes nothing"
    if stack:
        return f"{stack[-1]} is not closed"
    if bare.count("?") != bare.replace("'':", "").count(":"):  # keys of maps are strings
        return "a condition is not whole"
    return "a placeholder is left" if re.search(r"\$\{|(?<!: )\{\w*\}", bare) else ""  # `: {}` is an empty map


def test_every_policy_is_planned_and_bound(policies: dict[str, Manifest]) -> None:
    assert set(policies) == set(EXPECTED)
    plan = planned(SYSTEM, TRAIN, SHARED)
    bindings = manifests(plan, "ValidatingAdmissionPolicyBinding")
    assert {name: entry["spec"] for name, entry in bindings.items()} == {
        name: {"policyName": name, "validationActions": ["Deny"]} for name in EXPECTED
    }
    needs = {entry.id: entry.needs for entry in plan.objects}
    for name in EXPECTED:
        assert needs[f"ValidatingAdmissionPolicyBinding/{name}"] == (f"ValidatingAdmissionPolicy/{name}",)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_policy_matches_team_namespaces_and_fails_closed(name: str, policies: dict[str, Manifest]) -> None:
    spec = policies[name]["spec"]
    message, resources, operations = EXPECTED[name]
    assert spec["failurePolicy"] == "Fail"
    selector = spec["matchConstraints"]["namespaceSelector"]
    assert selector == {"matchExpressions": [{"key": names.TEAM, "operator": "Exists"}]}
    rules = spec["matchConstraints"]["resourceRules"]
    assert resources <= {resource for rule in rules for resource in rule["resources"]}
    assert {operation for rule in rules for operation in rule["operations"]} == operations
    assert any(message in entry["message"] for entry in spec["validations"])


def test_every_team_namespace_is_matched() -> None:
    teams = [{"name": "research"}, {"name": "students"}]
    for namespace in manifests(planned(SYSTEM, teams=teams), "Namespace").values():
        assert names.TEAM in namespace["metadata"]["labels"]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_expressions_are_whole(name: str, policies: dict[str, Manifest]) -> None:
    found = list(expressions(policies[name]))
    assert found
    for cel in found:
        assert not unbalanced(cel), cel


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_variables_are_defined_before_they_are_used(name: str, policies: dict[str, Manifest]) -> None:
    spec = policies[name]["spec"]
    defined: set[str] = set()
    for variable in spec.get("variables", []):
        assert set(re.findall(r"variables\.(\w+)", variable["expression"])) <= defined
        defined.add(variable["name"])
    for entry in spec["validations"]:
        text = entry["expression"] + entry.get("messageExpression", "")
        assert set(re.findall(r"variables\.(\w+)", text)) <= defined
    for entry in spec.get("matchConditions", []):  # evaluated before variables
        assert "variables." not in entry["expression"]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_messages_are_plain_sentences(name: str, policies: dict[str, Manifest]) -> None:
    """The API server refuses a message with a line break, and a messageExpression needs one to fall back on."""
    for entry in policies[name]["spec"]["validations"]:
        assert entry["message"]
        assert "\n" not in entry["message"]
        assert not entry["message"].startswith("'")


@pytest.mark.parametrize(
    ("cel", "why"),
    [
        ("has(a.b)", ""),
        ("a == '(' ? [1] : {'x': 1}.size()", ""),
        ("a ? b", "a condition is not whole"),
        ("has(a.b", "( is not closed"),
        ("a)", ") closes nothing"),
        ("[a)", ") closes nothing"),
        ("a == 'b", "a string is not closed"),
        ("has({0}.spec)", "a placeholder is left"),
        ("${spec(object)}.a", "a placeholder is left"),
    ],
)
def test_the_check_finds_an_undefined_variable(cel: str, why: str) -> None:
    assert unbalanced(cel) == why


def test_every_accelerator_of_the_cluster_is_asked_for_by_name(policies: dict[str, Manifest]) -> None:
    gate = " ".join(expressions(policies["mlcluster-queue-gate"]))
    assert "['nvidia.com/gpu', 'nvidia.com/mig-1g.5gb']" in gate
    assert "r.startsWith('nvidia.com/mig-')" in gate
    without = manifests(planned(SYSTEM), "ValidatingAdmissionPolicy")["mlcluster-queue-gate"]
    assert "r in ['nvidia.com/gpu']" in " ".join(expressions(without))


def test_asking_for_none_is_not_asking(policies: dict[str, Manifest]) -> None:
    """A request of 0 would be a licence to tolerate the accelerator taint."""
    for name in ("mlcluster-queue-gate", "mlcluster-gpu-nodes"):
        asks = next(entry for entry in policies[name]["spec"]["variables"] if entry["name"] == "asksAccelerator")
        for part in ("requests", "limits"):
            assert f"quantity(string(c.resources.{part}[r])).isGreaterThan(quantity('0'))" in asks["expression"]


def test_finalizers_of_cluster_scoped_objects_are_left_alone(policies: dict[str, Manifest]) -> None:
    """A namespace selector exempts no cluster-scoped object: the policy would hold for every one of the cluster."""
    (rule,) = policies["mlcluster-finalizers"]["spec"]["matchConstraints"]["resourceRules"]
    assert rule["scope"] == "Namespaced"


def test_a_team_may_change_only_the_priority_class_label_of_kueue(policies: dict[str, Manifest]) -> None:
    spec = policies["mlcluster-kueue-marks"]["spec"]
    (_, of_a_pod) = spec["validations"]
    expression = one_line(of_a_pod["expression"])
    assert f"!k.contains('kueue.x-k8s.io/') || k == '{names.WORKLOAD_PRIORITY}'" in expression
    assert spec["matchConditions"] == policies["mlcluster-gate-removal"]["spec"]["matchConditions"]


def test_everything_that_the_limit_range_defaults_needs_a_request(policies: dict[str, Manifest]) -> None:
    counted = " ".join(expressions(policies["mlcluster-counted-as-used"]))
    limits = manifests(planned(SYSTEM, teams=[{"name": "research"}]), "LimitRange")
    (defaults,) = [entry["defaultRequest"] for limit in limits.values() for entry in limit["spec"]["limits"]]
    assert f"r in [{', '.join(repr(name) for name in defaults)}]" in counted


def test_policies_name_the_users_of_kueue_and_the_controllers(policies: dict[str, Manifest]) -> None:
    (condition,) = policies["mlcluster-gate-removal"]["spec"]["matchConditions"]
    assert condition["expression"] == f"!(request.userInfo.username == '{names.KUEUE_USER}')"
    assert names.KUEUE_USER == "system:serviceaccount:kueue-system:kueue-controller-manager"
    owners = policies["mlcluster-owner-references"]["spec"]["matchConditions"][0]["expression"]
    assert owners.startswith("!(")
    assert names.KUEUE_USER in owners
