"""One stack on the stand-in for the official provider, and the calls that `up` and `down` make around the engine."""

from pathlib import Path

from mlcluster.deploy.ownership.adoption import take_over, take_over_rest
from mlcluster.deploy.ownership.unplanned import Unplanned, delete_unplanned, unplanned
from mlcluster.deploy.session.cluster import LiveCluster
from mlcluster.deploy.session.stack import Stack
from mlcluster.engine.engine import Engine
from mlcluster.kube.client import Kube
from mlcluster.plan.model import ClusterFacts, Plan, PlanObject
from mlcluster.progress import Silent
from tests.fakes.small_stack import SmallPlan, small_engine


class Said(Silent):
    """Keeps the facts that are told."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def say(self, text: str) -> None:
        self.texts.append(text)


class Scene:
    """One stack on the stand-in, and the calls that the verbs make around it."""

    def __init__(self, kube: Kube, port: int, root: Path, pulumi: Path) -> None:
        self.kube, self.port, self.root, self.pulumi = kube, port, root, pulumi
        self.said = Said()

    def engine(self, plan: SmallPlan) -> Engine:
        return small_engine(self.root, self.port, _whole(plan), self.pulumi)

    def take_over(self, plan: SmallPlan) -> None:
        take_over(_whole(plan), self._live(), [Stack("platform", self.engine(plan))], Silent())

    def preview(self, plan: SmallPlan) -> None:
        take_over(_whole(plan), self._live(), [Stack("platform", self.engine(plan))], Silent(), write=False)

    def take_over_rest(self, plan: SmallPlan) -> None:
        take_over_rest(_whole(plan), self._live(), [Stack("platform", self.engine(plan))], self.said)

    def unplanned(self, plan: SmallPlan) -> Unplanned:
        return unplanned(_whole(plan), self._live(), [Stack("platform", self.engine(plan))])

    def delete_unplanned(self, found: Unplanned) -> None:
        delete_unplanned(self.kube, found, Silent())

    def _live(self) -> LiveCluster:
        return LiveCluster("/absent", None, self.kube, "uid-1", None, started=False)


def _whole(plan: SmallPlan) -> Plan:
    facts = ClusterFacts("atlas", "existing", "", "1.36", "official", None)
    objects = tuple(PlanObject(one.id, one.manifest, one.needs, ()) for one in plan.objects)
    return Plan(facts, (), (), (), (), (), (), (), objects, ())
