"""The plan as a document."""

import pytest

from mlcluster.plan.document import spec_path_text
from mlcluster.spec.document import Loc

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("spec_path", "text"),
    [
        (("teams", 0, "guarantee"), "teams[0].guarantee"),
        (("nodePools", 12), "nodePools[12]"),
        (("components", "trainer", "runtimes", "torch-2.9"), "components.trainer.runtimes.torch-2.9"),
        (("metadata", "name"), "metadata.name"),
        (("teams",), "teams"),
        ((), ""),
    ],
)
def test_a_path_in_the_spec_is_written_as_people_write_it(spec_path: Loc, text: str) -> None:
    assert spec_path_text(spec_path) == text
