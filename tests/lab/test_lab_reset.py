"""`lab reset` by hand under a stack: the next `up` begins anew, and `down` has nothing left to delete."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mlcluster.lab.toolchain import Toolchain
from mlcluster.progress import Silent
from tests.lab.test_kill_recovery import Killed

pytestmark = pytest.mark.lab


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Killed]:
    """A cluster that is up; deleted in the end."""
    made = Killed(tmp_path)
    try:
        made.run("up", "--yes")
        yield made
    finally:
        made.lab.reset(Silent())


def test_a_lab_that_was_reset_under_its_stack_needs_no_other_command(cluster: Killed, toolchain: Toolchain) -> None:
    stack = cluster.lab.layout.root.parents[1] / "stacks" / "killed"
    cluster.lab.reset(Silent())
    said = cluster.run("up", "--yes")
    assert "it was deleted since the last `mlcluster up`, and everything is created again" in said
    assert "The lab killed was deleted" in said
    assert '"state": "ready"' in cluster.run("status", "-o", "json")
    cluster.lab.reset(Silent())
    cluster.lab.start(toolchain, Silent())  # another control plane under the same name
    preview = cluster.start("preview")
    assert preview.wait(600) == 1
    assert "The lab killed was deleted" in cluster.said()
    assert "Run `mlcluster up" in cluster.said()
    assert "The lab killed was deleted" in cluster.run("down", "--yes")
    assert not stack.exists()
    assert cluster.lab.status().state == "running"  # `down` deletes only a lab that `up` started
    cluster.lab.reset(Silent())
    assert "nothing to take down" in cluster.run("down", "--yes")
