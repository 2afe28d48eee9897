"""Every finding both ways: found where it is due, and not where it is not."""

from dataclasses import replace
from typing import Any

import pytest

from mlcluster.findings import Finding, Severity
from mlcluster.plan import build
from mlcluster.plan.model import Plan
from mlcluster.rules import findings
from mlcluster.rules.cost import budget
from mlcluster.spec.cluster import ClusterSpec
from tests.specs import EXISTING, LOCAL, SHAPE, SHARED, SYSTEM, TRAIN, Data, cluster

pytestmark = pytest.mark.unit

EKS: Data = {"kind": "eks", "region": "us-east-1", "endpoint": {"publicCidrs": ["203.0.113.0/24"]}}
TEAM: Data = {"name": "research", "guarantee": {"system": {"nodes": 1}}}
GUEST: Data = {"name": "guests", "borrow": "all"}


def spec_of(*pools: Data, **rest: Any) -> ClusterSpec:
    """Return a spec past the shape, not past the checks: rules have to hold for targets and sizes to come."""
    return ClusterSpec.model_validate(cluster(*pools, **rest))


def found_in(*pools: Data, **rest: Any) -> tuple[Finding, ...]:
    spec = spec_of(*pools, **rest)
    return findings(build(spec), spec)


def of_kind(identifier: str, *pools: Data, **rest: Any) -> list[Finding]:
    return [finding for finding in found_in(*pools, **rest) if finding.id == identifier]


def many(count: int, base: Data = SYSTEM) -> list[Data]:
    return [{**base, "name": f"pool-{index}"} for index in range(count)]


def priced(usd: float | None, **pool: Any) -> Data:
    shape = {**SHAPE["nodeShape"], **({} if usd is None else {"hourlyUsd": usd})}
    return {**SHAPE, "nodeShape": shape, **pool}


class TestCAP001:
    def test_65_pools_of_a_cohort_and_of_a_team(self) -> None:
        shared, own = of_kind("CAP001", *many(65), teams=[GUEST])
        assert (shared.place, own.place) == (("nodePools",), ("teams", 0))
        assert "the cohort atlas shares 65 pools; Kueue accepts 64" in shared.message
        assert "team guests has a share in 65 pools" in own.message

    def test_64_pools_are_fine(self) -> None:
        assert not of_kind("CAP001", *many(64), teams=[GUEST])

    def test_a_cohort_that_keeps_the_remainder_back_lists_none(self) -> None:
        assert not of_kind("CAP001", *many(65), cohorts=[{"name": "club", "share": "none"}])


class TestCAP002:
    def test_nine_taints(self) -> None:
        taints = [{"key": f"t{index}", "effect": "NoSchedule"} for index in range(8)]
        (finding,) = of_kind("CAP002", SYSTEM, {**TRAIN, "taints": taints})
        assert finding.place == ("nodePools", 1)
        assert "the nodes of pool train have 9 taints; a Kueue flavor accepts 8" in finding.message

    def test_nine_labels_of_a_selector(self) -> None:
        selector = {f"example.com/l{index}": "x" for index in range(9)}
        (finding,) = of_kind("CAP002", {**SYSTEM, "selector": selector}, target=EXISTING)
        assert "9 labels" in finding.message

    def test_eight_of_each_and_any_number_of_labels_elsewhere(self) -> None:
        taints = [{"key": f"t{index}", "effect": "NoSchedule"} for index in range(7)]
        labels = {f"l{index}": "x" for index in range(20)}
        assert not of_kind("CAP002", {**TRAIN, "taints": taints, "labels": labels})


class TestCAP003:
    def test_65_resources(self) -> None:
        rdma = {f"rdma/hca{index}": 1 for index in range(60)}
        shared, own = of_kind("CAP003", {**TRAIN, "network": {"rdma": rdma}}, teams=[GUEST])
        assert (shared.place, own.place) == (("metadata", "name"), ("teams", 0))
        assert "team guests has quota of 65 resources; Kueue accepts 64" in own.message

    def test_64_resources(self) -> None:
        rdma = {f"rdma/hca{index}": 1 for index in range(59)}
        assert not of_kind("CAP003", {**TRAIN, "network": {"rdma": rdma}}, teams=[GUEST])


class TestCST001:
    def test_certain_prices_above_the_budget(self) -> None:
        (finding,) = of_kind("CST001", TRAIN, SYSTEM, target=EKS, budget={"maxHourlyUsd": 400.5})
        assert finding.severity is Severity.ERROR
        assert finding.place == ("budget", "maxHourlyUsd")
        beside = "EKS control plane, public IPv4 address, KMS key, NAT gateway $0.15"
        assert f"the cluster costs $442.08 an hour (train $440.32 + system $1.61 + {beside})" in finding.message
        beyond = "EBS volumes, load balancers, data transfer, CloudWatch logs"
        assert f"), above the budget of $400.50; not counted: {beyond}" in finding.message
        assert finding.blocks

    def test_a_fraction_of_a_cent_above_the_budget(self) -> None:
        pool = priced(5.671)
        assert not of_kind("CST001", {**pool, "maxSize": 1}, target=EXISTING, budget={"maxHourlyUsd": 5.67})
        assert of_kind("CST001", {**pool, "maxSize": 1}, target=EXISTING, budget={"maxHourlyUsd": 5.66})

    def test_exactly_the_budget(self) -> None:
        assert not found_in(priced(450.0), budget={"maxHourlyUsd": 900.0})

    def test_no_budget(self) -> None:
        assert not found_in(priced(1e6))

    @pytest.mark.parametrize("region", ["us-west-2", "ap-south-1"])
    def test_no_region_is_cheap_enough(self, region: str) -> None:
        """A cluster that exceeds the budget by a factor of twenty at prices of us-east-1 exceeds it in every region."""
        (finding,) = of_kind("CST001", TRAIN, target={**EKS, "region": region}, budget={"maxHourlyUsd": 22.0})
        assert finding.blocks
        assert "; the lowest possible price is $220." in finding.message

    def test_a_region_may_be_cheap_enough(self) -> None:
        assert not of_kind("CST001", TRAIN, target={**EKS, "region": "us-west-2"}, budget={"maxHourlyUsd": 230.0})

    @pytest.mark.parametrize(("kind", "budget"), [("spot", 2.0), ("reservation", 5.0)])
    def test_another_way_to_buy_may_be_cheap_enough(self, kind: str, budget: float) -> None:
        bought = {"type": kind, **({"reservationId": "cr-0abc"} if kind == "reservation" else {})}
        pool = {**SYSTEM, "maxSize": 40, "capacity": bought}
        (finding,) = of_kind("CST002", pool, target=EKS, budget={"maxHourlyUsd": budget})
        assert "the cluster costs ≈ $" in finding.message
        assert "; the lowest possible price is $" in finding.message
        assert of_kind("CST001", pool, target=EKS, budget={"maxHourlyUsd": budget / 2})

    def test_nodes_of_an_existing_cluster_may_be_bought_in_any_way(self) -> None:
        assert not of_kind("CST001", TRAIN, target=EXISTING, budget={"maxHourlyUsd": 23.0})
        assert of_kind("CST001", TRAIN, target=EXISTING, budget={"maxHourlyUsd": 21.0})


def _without_prices(region: str) -> Plan:
    """Return a plan whose resources beside the nodes cost more than its budget, and whose pools have no price."""
    plan = build(spec_of(SYSTEM, target={**EKS, "region": region}, budget={"maxHourlyUsd": 0.1}))
    return replace(plan, pools=tuple(replace(pool, price=None) for pool in plan.pools))


class TestCST002:
    def test_another_regions_prices_above_the_budget(self) -> None:
        (finding,) = of_kind("CST002", TRAIN, budget={"maxHourlyUsd": 400.0})
        assert finding.severity is Severity.WARNING
        assert finding.message == (
            "at maximum size the nodes cost ≈ $440.32 an hour (train ≈ $440.32), above the budget of $400.00; "
            "≈ marks on-demand list prices of us-east-1; the lowest possible price is $220.16"
        )
        assert finding.hint == "Lower `maxSize`, or raise the budget."

    def test_another_regions_prices_may_be_above_the_budget(self) -> None:
        (finding,) = of_kind("CST002", TRAIN, budget={"maxHourlyUsd": 1000.0})
        assert finding.message == (
            "at maximum size the nodes cost ≈ $440.32 an hour (train ≈ $440.32), within the budget of $1,000.00; "
            "≈ marks on-demand list prices of us-east-1"
        )

    @pytest.mark.parametrize("target", [LOCAL, EXISTING, {**EKS, "region": "us-west-2"}])
    def test_another_regions_prices_prove_nothing(self, target: Data) -> None:
        assert of_kind("CST002", TRAIN, target=target, budget={"maxHourlyUsd": 9000.0})

    def test_a_capacity_block_may_cost_more_than_the_list_price(self) -> None:
        block = {**TRAIN, "capacity": {"type": "capacityBlock", "reservationId": "cr-0abc"}}
        assert of_kind("CST002", block, SYSTEM, target=EKS, budget={"maxHourlyUsd": 9000.0})

    def test_no_price_at_all(self) -> None:
        (finding,) = of_kind("CST002", priced(None), budget={"maxHourlyUsd": 1.0})
        assert finding.message == "no price is known for pool own, so the budget of $1.00 cannot be checked"

    def test_a_pool_without_a_price_makes_the_total_a_lower_bound(self) -> None:
        (finding,) = of_kind("CST002", priced(None), TRAIN, budget={"maxHourlyUsd": 5000.0})
        assert "the nodes cost at least ≈ $440.32 an hour" in finding.message
        assert "; no price is known for pool own" in finding.message
        assert "possible price" not in finding.message

    def test_exact_and_estimated_figures_are_distinguished(self) -> None:
        (finding,) = of_kind("CST002", priced(10.0), TRAIN, budget={"maxHourlyUsd": 1000.0})
        assert "(own $20.00 + train ≈ $440.32)" in finding.message

    def test_resources_beside_the_nodes_are_estimated_in_another_region(self) -> None:
        """The prices are those of us-east-1, even if no pool has a price."""
        (finding,) = budget(_without_prices("us-west-2"))
        assert finding.id == "CST002"
        assert "the cluster costs at least ≈ $0.15 an hour (EKS control plane, " in finding.message
        assert [finding.id for finding in budget(_without_prices("us-east-1"))] == ["CST001"]

    def test_certain_prices_within_the_budget(self) -> None:
        assert not of_kind("CST002", SYSTEM, target=EKS, budget={"maxHourlyUsd": 2.0})

    def test_spot_is_not_the_list_price(self) -> None:
        """It can be lower, and is not higher: within the budget by the list price is within the budget."""
        spot = {**SYSTEM, "capacity": {"type": "spot"}}
        assert not of_kind("CST002", spot, target=EKS, budget={"maxHourlyUsd": 2.0})
        assert of_kind("CST002", spot, target=EKS, budget={"maxHourlyUsd": 1.7})


class TestCST003:
    def test_a_shape_without_a_price(self) -> None:
        (finding,) = of_kind("CST003", SYSTEM, priced(None))
        assert (finding.place, finding.severity) == (("nodePools", 1), Severity.INFO)
        assert "the price of this node shape is unknown" in finding.message

    def test_existing_nodes_and_their_price_have_no_finding(self) -> None:
        assert not of_kind("CST003", priced(0.0))
        assert not of_kind("CST003", priced(None), target=EXISTING)


class TestGPU001:
    def test_the_taint_left_off(self) -> None:
        (finding,) = of_kind("GPU001", SYSTEM, {**TRAIN, "gpu": {"taint": False}})
        assert finding.place == ("nodePools", 1)
        assert "the nodes of train have 8 GPUs and no nvidia.com/gpu taint" in finding.message

    def test_existing_nodes_without_the_taint(self) -> None:
        assert of_kind("GPU001", TRAIN, target=EXISTING)

    def test_tainted_nodes(self) -> None:
        taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
        assert not of_kind("GPU001", SYSTEM, TRAIN)
        assert not of_kind("GPU001", {**TRAIN, "taints": [taint]}, target=EXISTING)


class TestSCH001:
    """Kueue by Helm on an existing cluster needs 500m CPU and 512 MiB on a node whose taints it tolerates."""

    def test_every_pool_is_tainted(self) -> None:
        """Controllers tolerate every taint of the pool for controllers."""
        taints = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
        assert not of_kind("SCH001", {**TRAIN, "taints": taints}, target=EXISTING)

    def test_nodes_too_small(self) -> None:
        tiny = {"name": "tiny", "nodeShape": {"cpu": "400m", "memory": "100Mi"}, "maxSize": 1}
        (finding,) = of_kind("SCH001", tiny, target=EXISTING)
        assert "tiny has too little cpu, memory" in finding.message
        assert finding.hint.startswith("Use larger nodes, or lower its requests.")

    def test_daemon_sets_that_together_are_more_than_a_node(self) -> None:
        """Each of them fits nodes of the other pool, but their pods come to every node."""
        nano = {"name": "nano", "instanceType": "t3.nano", "maxSize": 2}
        (finding,) = of_kind("SCH001", {**SYSTEM, "minSize": 2}, nano, target=EKS)
        assert finding.place == ("nodePools", 1)
        assert "daemon sets of components request more than a node of nano has: memory" in finding.message

    def test_daemon_sets_that_fill_a_node_fit_it(self) -> None:
        """Their own requests are not subtracted from their room."""
        shape = {"cpu": "500m", "memory": "1Gi", "pods": 1}
        full = {"name": "full", "nodeShape": shape, "maxSize": 1}
        problems = {"components": {"nodeProblemDetector": {}}, "target": EXISTING}
        assert not of_kind("SCH001", SYSTEM, full, **problems)
        assert of_kind("SCH001", SYSTEM, {**full, "reserved": {"cpu": "490m"}}, **problems)

    def test_a_node_without_taints_or_with_a_soft_one(self) -> None:
        soft = [{"key": "busy", "effect": "PreferNoSchedule"}]
        assert not of_kind("SCH001", {**SYSTEM, "taints": soft}, TRAIN, target=EXISTING)

    def test_a_process_of_the_lab_needs_no_node(self) -> None:
        assert not of_kind("SCH001", TRAIN)


class TestGPU002:
    def test_teams_and_only_gpus(self) -> None:
        (finding,) = of_kind("GPU002", TRAIN, SHARED, teams=[GUEST])
        assert finding.place == ("nodePools",)

    def test_a_cpu_pool_and_a_pool_without_teams_have_no_finding(self) -> None:
        assert not of_kind("GPU002", TRAIN, SYSTEM, teams=[GUEST])
        assert not of_kind("GPU002", TRAIN)


class TestNET001:
    @pytest.mark.parametrize(("target", "why"), [({"kind": "local"}, "no pod network"), (EXISTING, "CNI")])
    def test_network_policies_without_an_enforcing_cni_are_found(self, target: Data, why: str) -> None:
        (finding,) = of_kind("NET001", SYSTEM, target=target, teams=[TEAM])
        assert (finding.place, finding.severity) == (("teams",), Severity.INFO)
        assert why in finding.message

    def test_no_finding_without_teams_or_on_a_managed_cluster(self) -> None:
        assert not of_kind("NET001", SYSTEM)
        assert not of_kind("NET001", SYSTEM, target=EKS, teams=[TEAM])


class TestQTA001:
    def test_a_team_without_anything(self) -> None:
        (finding,) = of_kind("QTA001", SYSTEM, teams=[TEAM, {"name": "nobody"}])
        assert finding.place == ("teams", 1)
        assert "team nobody has no guarantee and cannot borrow" in finding.message

    def test_guarantees_of_nothing_count_as_nothing(self) -> None:
        assert of_kind("QTA001", SYSTEM, teams=[{"name": "nobody", "guarantee": {"system": {"nodes": 0}}}])

    def test_a_guarantee_or_a_loan(self) -> None:
        assert not of_kind("QTA001", SYSTEM, teams=[TEAM, GUEST])


class TestQTA002:
    def test_one_slice_has_no_efa(self) -> None:
        pool = {**SHARED, "network": {"efa": True}}
        (finding,) = of_kind(
            "QTA002", SYSTEM, pool, teams=[{"name": "research", "guarantee": {"shared": {"slices": 1}}}]
        )
        assert finding.place == ("teams", 0, "guarantee", "shared")
        assert finding.message == "team research's share of shared rounds down to no vpc.amazonaws.com/efa"

    def test_a_share_that_leaves_some_of_everything(self) -> None:
        assert not of_kind("QTA002", SHARED, teams=[{"name": "research", "guarantee": {"shared": {"slices": 1}}}])
        assert not of_kind("QTA002", SYSTEM, TRAIN, teams=[TEAM, GUEST])


class TestQTA004:
    def test_config_maps_and_secrets_of_all_teams_are_added_up(self) -> None:
        teams = [{**TEAM, "limits": {"configMaps": 8000, "secrets": 100}}, {"name": "guests"}]
        (finding,) = of_kind("QTA004", SYSTEM, teams=teams)
        assert "2 teams allow 8,600 ConfigMaps and Secrets" in finding.message
        assert "(most: research with 8,100)" in finding.message
        assert "4,096 for each team" in finding.hint

    def test_the_defaults_of_a_few_teams_fit(self) -> None:
        assert not of_kind("QTA004", SYSTEM, teams=[TEAM, GUEST])


class TestQTA003:
    SLICED: Data = {**TRAIN, "gpu": {"timeSlicing": {"replicas": 4}}}  # noqa: RUF012 - never changed

    def test_guaranteed_time_slices(self) -> None:
        team = {"name": "research", "guarantee": {"train": {"slices": 8}}}
        (finding,) = of_kind("QTA003", SYSTEM, self.SLICED, teams=[team])
        assert finding.place == ("teams", 0, "guarantee", "train")

    def test_borrowed_time_slices_and_mig(self) -> None:
        assert not of_kind("QTA003", SYSTEM, self.SLICED, teams=[GUEST])
        assert not of_kind("QTA003", SHARED, teams=[{"name": "research", "guarantee": {"shared": {"slices": 8}}}])


def test_an_allowed_finding_carries_its_reason_and_stops_nothing() -> None:
    reason = "the reservation is paid for already"
    budget, allow = {"maxHourlyUsd": 1.0}, [{"id": "CST001", "reason": reason}]
    (finding,) = of_kind("CST001", priced(600.0), budget=budget, allow=allow)
    assert (finding.allowed, finding.blocks) == (reason, False)
    (other,) = of_kind("CST001", priced(600.0), budget=budget, allow=[{"id": "GPU001", "reason": reason}])
    assert (other.allowed, other.blocks) == ("", True)


def test_a_warning_never_stops() -> None:
    (finding,) = of_kind("QTA001", SYSTEM, teams=[{"name": "nobody"}])
    assert not finding.blocks


def test_worst_first_then_by_id() -> None:
    found = found_in(
        priced(600.0), {**TRAIN, "gpu": {"taint": False}}, *many(64),
        teams=[{"name": "nobody"}], budget={"maxHourlyUsd": 1.0},
    )  # fmt: skip
    assert [finding.id for finding in found] == ["CAP001", "CST001", "GPU001", "QTA001", "NET001"]
    ranks = [finding.severity.rank for finding in found]
    assert ranks == sorted(ranks, reverse=True)


def test_a_clean_spec_has_only_the_finding_about_kept_resources() -> None:
    assert [finding.id for finding in found_in({**SYSTEM, "minSize": 1}, TRAIN, target=EKS, teams=[TEAM])] == ["STO001"]


def test_rules_read_the_plan_alone() -> None:
    """A plan without teams, pools or cohorts is no reason to fall over."""
    spec = spec_of(SYSTEM)
    empty: Plan = replace(build(spec), pools=(), teams=(), cohorts=())
    assert findings(empty, spec) == ()
