"""Taints and tolerations: matching, and their form in manifests."""

import pytest

from mlcluster.plan.model import Taint, Toleration
from mlcluster.plan.taints import (
    ACCELERATOR_TAINT,
    CRITICAL,
    EVERY_TAINT,
    autoscaler_taints,
    controller_tolerations,
    eks_taint,
    flavor_tolerations,
    read_toleration,
    taint_manifest,
    tolerates,
    toleration,
    toleration_manifest,
    tolerations,
    untolerated,
)
from tests.specs import LOCAL, SYSTEM, Data, planned

pytestmark = pytest.mark.unit

GPU = Taint("nvidia.com/gpu", "present", "NoSchedule")
BARE = Taint("spot", "", "NoExecute")
SOFT = Taint("dedicated", "training", "PreferNoSchedule")


class TestTolerates:
    @pytest.mark.parametrize(
        ("manifest", "tolerated"),
        [
            ({"operator": "Exists"}, True),
            ({"key": "nvidia.com/gpu", "operator": "Exists"}, True),
            ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}, True),
            ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}, False),
            ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": ""}, True),
            ({"operator": "Exists", "effect": "NoSchedule"}, True),
            ({"operator": "Exists", "effect": "NoExecute"}, False),
            ({"key": "amd.com/gpu", "operator": "Exists"}, False),
            ({"key": "nvidia.com/gpu", "value": "present"}, True),
            ({"key": "nvidia.com/gpu", "operator": "Equal", "value": "present"}, True),
            ({"key": "nvidia.com/gpu", "operator": "Equal", "value": "absent"}, False),
            ({"key": "nvidia.com/gpu"}, False),
            ({"key": "nvidia.com/gpu", "value": "present", "effect": "NoExecute"}, False),
        ],
    )
    def test_a_taint_with_a_value(self, manifest: dict[str, str], tolerated: bool) -> None:
        assert tolerates(read_toleration(manifest), GPU) is tolerated

    def test_a_taint_without_a_value(self) -> None:
        bare = Taint("spot", "", "NoSchedule")
        assert tolerates(Toleration("spot"), bare)
        assert not tolerates(Toleration("spot", value="true"), bare)

    @pytest.mark.parametrize("taint", [GPU, BARE, SOFT])
    @pytest.mark.parametrize("compare_value", [False, True])
    def test_the_toleration_of_a_taint_matches_it(self, taint: Taint, compare_value: bool) -> None:
        assert tolerates(toleration(taint, compare_value=compare_value), taint)

    def test_two_taints_differ_only_by_a_compared_value(self) -> None:
        other = Taint(GPU.key, "absent", GPU.effect)
        assert tolerates(toleration(GPU), other)
        assert not tolerates(toleration(GPU, compare_value=True), other)

    def test_a_soft_taint_keeps_no_pod_off_a_node(self) -> None:
        assert untolerated([], [SOFT, BARE, GPU]) == (BARE, GPU)
        assert untolerated([toleration(BARE)], [SOFT, BARE, GPU]) == (GPU,)
        assert untolerated([EVERY_TAINT], [SOFT, BARE, GPU]) == ()


class TestTolerationsOfPods:
    def test_each_key_and_effect_once_and_in_order(self) -> None:
        other_value = Taint(GPU.key, "absent", GPU.effect)
        assert tolerations([GPU, BARE, other_value]) == (toleration(GPU), toleration(BARE))

    def test_a_controller_tolerates_the_hard_taints_of_the_system_pool(self) -> None:
        taints = [
            {"key": "CriticalAddonsOnly", "value": "true", "effect": "NoSchedule"},
            {"key": "soft", "effect": "PreferNoSchedule"},
            {"key": "bare", "effect": "NoExecute"},
            {"key": "valued", "value": "x", "effect": "NoSchedule"},
        ]
        tainted: Data = {**SYSTEM, "taints": taints}
        (pool,) = planned(tainted, target=LOCAL).pools
        bare, valued = Toleration("bare", "Exists", effect="NoExecute"), Taint("valued", "x", "NoSchedule")
        assert controller_tolerations(pool) == (CRITICAL, bare, toleration(valued))
        compared = controller_tolerations(pool, compare_values=True)
        assert compared == (CRITICAL, bare, toleration(valued, compare_value=True))

    def test_a_flavor_leaves_the_accelerator_taint_to_the_request(self) -> None:
        assert flavor_tolerations([ACCELERATOR_TAINT, BARE]) == (Toleration("spot", "Equal", "", "NoExecute"),)


class TestForms:
    @pytest.mark.parametrize(
        ("given", "manifest"),
        [
            (EVERY_TAINT, {"operator": "Exists"}),
            (CRITICAL, {"key": "CriticalAddonsOnly", "operator": "Exists"}),
            (toleration(GPU), {"key": GPU.key, "operator": "Exists", "effect": "NoSchedule"}),
            (
                toleration(BARE, compare_value=True),
                {"key": "spot", "operator": "Equal", "value": "", "effect": "NoExecute"},
            ),
        ],
    )
    def test_a_toleration_is_read_as_it_was_written(self, given: Toleration, manifest: dict[str, str]) -> None:
        assert toleration_manifest(given) == manifest
        assert read_toleration(manifest) == given

    def test_a_taint_of_a_node(self) -> None:
        assert taint_manifest(BARE) == {"key": "spot", "effect": "NoExecute"}
        assert taint_manifest(BARE, empty_value=True) == {"key": "spot", "value": "", "effect": "NoExecute"}
        assert eks_taint(BARE) == {"key": "spot", "effect": "NO_EXECUTE"}
        assert eks_taint(SOFT) == {"key": "dedicated", "value": "training", "effect": "PREFER_NO_SCHEDULE"}

    def test_the_strongest_of_two_taints_with_one_key_describes_a_node(self) -> None:
        hard = Taint(SOFT.key, "other", "NoSchedule")
        assert autoscaler_taints([hard, SOFT, BARE]) == {"dedicated": "other:NoSchedule", "spot": ":NoExecute"}
