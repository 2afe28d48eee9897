"""All resources of the `eks` target: properties of every example, and of the longest names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

from mlcluster.plan import build
from mlcluster.plan.components.assembly import component_parts
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.index import selected
from mlcluster.plan.components.system_nodes import pods_on, system_selector
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.eks.parts import EksParts, eks_parts, eks_pods
from mlcluster.plan.eks.storage.retention import with_kept_parents
from mlcluster.plan.model import Plan, PlanResource
from mlcluster.plan.values import printable, references
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.load import load
from mlcluster.spec.problems import SpecInvalidError
from tests.fakes import sdk_types
from tests.specs import SYSTEM, TRAIN, Data, checked, cluster

pytestmark = pytest.mark.unit

EXAMPLES = sorted(path.stem for path in (Path(__file__).parents[4] / "examples").glob("eks-*.yaml"))
LONGEST = {
    "aws:cloudwatch/eventRule:EventRule": 64,
    "aws:ec2/launchTemplate:LaunchTemplate": 128,
    "aws:ec2/placementGroup:PlacementGroup": 255,
    "aws:ec2/securityGroup:SecurityGroup": 255,
    "aws:iam/instanceProfile:InstanceProfile": 128,
    "aws:iam/policy:Policy": 128,
    "aws:iam/role:Role": 64,
    "aws:sqs/queue:Queue": 80,
    "eks:index:Cluster": 100,
}
"""Characters that AWS takes in the name of a type (the API reference of each service)."""
LONGEST_NODE_GROUP = 63


@dataclass(frozen=True)
class Example:
    """An example with its plan, and its parts as `build` put them into it."""

    context: EksContext
    plan: Plan
    parts: EksParts


@cache
def loaded(name: str) -> Example:
    return made_of(load(Path(__file__).parents[4] / "examples" / f"{name}.yaml").spec)


def made_of(spec: ClusterSpec) -> Example:
    assert isinstance(spec.target, EksTarget)
    plan = build(spec)
    context = EksContext(spec, spec.target, plan.pools)
    added = component_parts(ComponentContext(spec, plan.pools, selected(spec, plan.pools), plan.teams, plan.cohorts))
    return Example(context, plan, eks_parts(context, plan.teams, added.resources))


@pytest.fixture(params=EXAMPLES)
def example(request: pytest.FixtureRequest) -> Example:
    """Return each example of the target."""
    return loaded(request.param)


def needs_of(plan: Plan) -> dict[str, tuple[str, ...]]:
    return {entry.id: entry.needs for part in (plan.resources, plan.releases, plan.objects) for entry in part}


def test_the_examples_are_found() -> None:
    assert len(EXAMPLES) >= 5
    assert "eks-karpenter" in EXAMPLES


def test_the_plan_holds_all_of_it(example: Example) -> None:
    assert example.plan.resources == example.parts.resources
    assert {entry.id for entry in example.parts.objects} <= {entry.id for entry in example.plan.objects}
    selector = system_selector(example.plan.pools, on_existing=False)
    assert all(pod in example.plan.pods for pod in pods_on(selector, eks_pods(example.context)))


def test_ids_are_unique_and_sorted(example: Example) -> None:
    plan = example.plan
    ids = [entry.id for part in (plan.resources, plan.releases, plan.objects) for entry in part]
    assert len(set(ids)) == len(ids)
    resources = [entry.id for entry in plan.resources]
    assert resources == sorted(resources)
    assert all(entry.id.partition("/")[0] == entry.type.rpartition(":")[2] for entry in plan.resources)


def test_every_need_is_met_and_there_is_no_cycle(example: Example) -> None:
    needs = needs_of(example.plan)
    assert {need for wanted in needs.values() for need in wanted} <= needs.keys()
    assert len(list(TopologicalSorter(needs).static_order())) == len(needs)


def test_the_cloud_needs_nothing_of_the_platform(example: Example) -> None:
    """The stack of the cloud is created first and deleted last."""
    cloud = {entry.id for entry in example.plan.resources}
    assert all(set(entry.needs) <= cloud for entry in example.plan.resources)


def test_referenced_resources_are_needs(example: Example) -> None:
    for entry in example.plan.resources:
        assert {ref.resource for ref in references(entry.inputs)} <= set(entry.needs), entry.id
    cloud = {entry.id for entry in example.plan.resources}
    documents = [entry.manifest for entry in example.plan.objects] + [entry.values for entry in example.plan.releases]
    assert {ref.resource for document in documents for ref in references(document)} <= cloud


def test_inputs_are_those_of_the_sdk(example: Example) -> None:
    """Names only; the types of the values are checked where the engine has resolved them."""
    for entry in example.plan.resources:
        assert entry.inputs.keys() <= sdk_types.arguments(entry.type).keys(), entry.id
        required = {name for name, known in sdk_types.arguments(entry.type).items() if known.required}
        assert required <= entry.inputs.keys(), entry.id


def test_every_taggable_resource_has_the_managed_tags(example: Example) -> None:
    ours = example.context.tags.items()
    tagged = [entry for entry in example.plan.resources if "tags" in sdk_types.arguments(entry.type)]
    assert tagged
    for entry in tagged:
        assert ours <= entry.inputs.get("tags", {}).items(), entry.id
    for entry in example.plan.resources:
        for specification in entry.inputs.get("tagSpecifications", ()):
            assert ours <= specification["tags"].items(), entry.id


def test_names_are_short_enough_and_begin_with_the_clusters(example: Example) -> None:
    assert list(too_long(example.plan)) == []
    for entry in example.plan.resources:
        if entry.type in LONGEST and entry.type != "aws:cloudwatch/eventRule:EventRule":
            assert str(printable(entry.inputs["name"])).startswith(example.context.name), entry.id


def too_long(plan: Plan) -> Iterator[str]:
    """Yield every name over the limit of its type; a name that is none at all counts too."""
    for entry in plan.resources:
        name, longest = entry.inputs.get("name", ""), LONGEST.get(entry.type)
        if longest is not None and not 0 < len(str(printable(name))) <= longest:
            yield f"{entry.id}: {printable(name)}"
        group = entry.inputs.get("nodeGroupName", "")
        if entry.type == "aws:eks/nodeGroup:NodeGroup" and not 0 < len(group) <= LONGEST_NODE_GROUP:
            yield f"{entry.id}: {group}"


@pytest.mark.parametrize("autoscaler", ["clusterAutoscaler", "karpenter", "none"])
class TestLongNames:
    """Never cut, never left to AWS: a name that becomes too long is a problem of the spec."""

    def data(self, autoscaler: str, cluster_name: int, pool_name: int) -> Data:
        """Return a spec whose names have so many characters."""
        efa = {} if autoscaler == "karpenter" else {"network": {"efa": True}}
        fewest = TRAIN["maxSize"] if autoscaler == "none" else 0
        pools: list[Data] = [{**SYSTEM, "minSize": 4}, {**TRAIN, "name": "t" * pool_name, "minSize": fewest, **efa}]
        volumes = {"volumes": [{"name": "v" * 40, "kind": "efs"}]}
        target = {"kind": "eks", "region": "us-west-2", "autoscaler": autoscaler}
        data = cluster(*pools, target=target, storage=volumes, teams=[{"name": "research", "borrow": "all"}])
        data["metadata"]["name"] = "c" * cluster_name
        return data

    @pytest.mark.parametrize(("cluster_name", "pool_name"), [(1, 1), (40, 1), (22, 40), (40, 22)])
    def test_every_name_that_is_made_of_them_fits(self, cluster_name: int, pool_name: int, autoscaler: str) -> None:
        assert list(too_long(build(checked(self.data(autoscaler, cluster_name, pool_name))))) == []

    @pytest.mark.parametrize(("cluster_name", "pool_name"), [(41, 1), (23, 40), (40, 23), (1, 41)])
    def test_one_more_is_refused(self, cluster_name: int, pool_name: int, autoscaler: str) -> None:
        with pytest.raises(SpecInvalidError):
            checked(self.data(autoscaler, cluster_name, pool_name))


class TestKept:
    def test_dependencies_of_retained_resources_are_retained(self, example: Example) -> None:
        kept = {entry.id: entry for entry in example.plan.resources if entry.retained}
        assert {ref.resource for entry in kept.values() for ref in references(entry.inputs)} <= kept.keys()

    def test_nothing_else_is_kept(self, example: Example) -> None:
        """Every retained resource is a file system or a key, or one of those depends on it."""
        kept = {entry.id: entry for entry in example.plan.resources if entry.retained}
        roots = {name for name in kept if name.split("/")[0] in {"FileSystem", "LustreFileSystem", "Key"}}
        assert standing_on(kept, roots) == kept.keys()

    def test_keeping_again_changes_nothing(self, example: Example) -> None:
        assert with_kept_parents(example.plan.resources) == example.plan.resources

    def test_volumes_that_go_keep_nothing(self) -> None:
        target = {"kind": "eks", "region": "us-west-2", "secretsKey": "arn:aws:kms:us-west-2:111122223333:key/0a"}
        volumes = [{"name": "data", "kind": "efs", "retain": False}]
        spec = checked(cluster({**SYSTEM, "minSize": 2}, target=target, storage={"volumes": volumes}))
        assert [entry.id for entry in build(spec).resources if entry.retained] == []


def standing_on(known: Mapping[str, PlanResource], roots: set[str]) -> set[str]:
    """Return the roots and everything that they refer to, directly or not."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [ref.resource for ref in references(known[name].inputs)]
    return found


def test_no_reference_is_left_in_a_text(example: Example) -> None:
    """A Ref that is formatted into a string would be sent unresolved."""
    for entry in example.plan.resources:
        for text in texts(entry.inputs):
            assert "${" not in text or "${aws:" in text, f"{entry.id}: {text}"


def texts(value: Any) -> Iterator[str]:
    """Yield every plain text inside inputs."""
    match value:
        case str():
            yield value
        case dict():
            for part in value.values():
                yield from texts(part)
        case list() | tuple():
            for part in value:
                yield from texts(part)
        case _:
            return
