"""`lab reset` by hand under a stack: the next `up` begins anew, and `down` has nothing left to delete."""

import pytest

from mlcluster.lab.toolchain import Toolchain
from mlcluster.progress import Silent
from tests.lab.test_kill_recovery import Killed, killed

pytestmark = pytest.mark.lab
__all__ = ["killed"]


def test_a_lab_that_was_reset_under_its_stack_needs_no_other_command(killed: Killed, toolchain: Toolchain) -> None:
    stack = killed.lab.layout.root.parents[1] / "stacks" / "killed"
    killed.lab.reset(Silent())
    said = killed.run("up", "--yes")
    assert "it was deleted since the last `mlcluster up`, and everything is created again" in said
    assert "The lab killed was deleted" in said
    assert '"state": "ready"' in killed.run("status", "-o", "json")
    killed.lab.reset(Silent())
    killed.lab.start(toolchain, Silent())  # another control plane under the same name
    preview = killed.start("preview")
    assert preview.wait(600) == 1
    assert "The lab killed was deleted" in killed.said()
    assert "Run `mlcluster up" in killed.said()
    assert "The lab killed was deleted" in killed.run("down", "--yes")
    assert not stack.exists()
    assert killed.lab.status().state == "running"  # `down` deletes only a lab that `up` started
    killed.lab.reset(Silent())
    assert "nothing to delete" in killed.run("down", "--yes")
