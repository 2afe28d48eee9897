"""The way from a file to a checked spec."""

import subprocess
import sys
from pathlib import Path

import pytest

from mlcluster.report.problems import problems_text
from mlcluster.spec.document import Problem
from mlcluster.spec.load import MAX_PROBLEMS, load, locate_problem, parse
from mlcluster.spec.problems import SpecInvalidError

pytestmark = pytest.mark.unit


def big_spec(pools: int, teams: int) -> str:
    """Return a spec of many lines: every team has a guarantee of four pools."""
    lines = ["apiVersion: mlcluster/v1alpha1", "kind: Cluster", "metadata: {name: big}", "target: {kind: local}"]
    lines.append("nodePools:")
    for pool in range(pools):
        lines += [f"  - name: pool-{pool}", "    instanceType: p5.48xlarge", "    maxSize: 500"]
        lines += [f"    labels: {{group: g{pool}}}", "    network: {efa: true, placementGroup: cluster}"]
    lines.append("teams:")
    for team in range(teams):
        lines += [f"  - name: team-{team}", "    guarantee:"]
        lines += [f"      pool-{(team * 4 + part) % pools}: {{nodes: 2}}" for part in range(4)]
        lines += [f"    borrow: {{pool-{team % pools}: all}}", "    members:", f"      edit: {{groups: [g-{team}]}}"]
        lines += ["    network:", "      egress: [10.0.0.0/8]"]
    return "\n".join(lines) + "\n"


def test_every_example_is_valid(project_root: Path) -> None:
    examples = sorted((project_root / "examples").glob("*.yaml"))
    assert examples
    for example in examples:
        assert load(example).spec.node_pools


def test_a_big_spec_is_read_whole() -> None:
    loaded = parse(big_spec(50, 200).encode(), "big.yaml")
    assert (len(loaded.spec.node_pools), len(loaded.spec.teams)) == (50, 200)
    last = loaded.document.position(("teams", 199, "network", "egress", 0))
    assert last.line == len(loaded.document.lines) - 1


def test_one_mistake_at_the_end_of_a_big_spec_is_found() -> None:
    text = big_spec(50, 200).removesuffix("[10.0.0.0/8]\n") + "[10.0.0.0/8, 10.0.0.1/8]\n"
    with pytest.raises(SpecInvalidError) as caught:
        parse(text.encode(), "big.yaml")
    assert [problem.path for problem in caught.value.problems] == ["teams[199] (team-199).network.egress[1]"]


@pytest.mark.parametrize(
    ("more", "count"),
    [
        ("".join(f"key{number}: 1\n" for number in range(20_000)), 20_000),
        ("x: 1\n" * 20_000, 20_000),
        ("teams: [" + "1, " * 999 + "2]\n", 1_000),
    ],
)
def test_any_number_of_problems_is_counted_and_the_first_are_shown(more: str, count: int) -> None:
    with pytest.raises(SpecInvalidError) as caught:
        parse((big_spec(1, 0).removesuffix("teams:\n") + more).encode(), "x.yaml")
    assert (len(caught.value.problems), caught.value.more) == (MAX_PROBLEMS, count - MAX_PROBLEMS)
    text = problems_text(caught.value, color=False)
    assert f"500 problems and {count - MAX_PROBLEMS:,} more; skipped the cross-field checks" in text


def test_a_spec_on_one_line_is_shown_as_an_excerpt() -> None:
    text = big_spec(1, 0).removesuffix("teams:\n") + "teams: [" + "{name: aa}, " * 200 + "{nam: b}]\n"
    with pytest.raises(SpecInvalidError) as caught:
        parse(text.encode(), "x.yaml")
    problem = caught.value.problems[-1]
    assert problem.column == len("teams: [" + "{name: aa}, " * 200 + "{") + 1
    assert problem.source[problem.caret - 1 :] == "nam: b}]"
    assert len(problem.source) <= 400


def test_places_of_findings_come_from_the_same_document(project_root: Path) -> None:
    document = load(project_root / "examples" / "lab.yaml").document
    place = locate_problem(document, Problem(("nodePools", 1, "maxSize"), "")).place
    assert place.endswith("lab.yaml:12:14")
    located = locate_problem(document, Problem(("nodePools", 1, "maxSize"), "too few", "more"))
    assert (located.path, located.source) == ("nodePools[1] (train).maxSize", "    maxSize: 8")
    assert locate_problem(document, Problem(("nodePools", 1, "minSize"), "")).place.endswith("lab.yaml:10:5")


def test_anchors_at_home_under_x_keys_are_dropped() -> None:
    text = (
        "apiVersion: mlcluster/v1alpha1\nkind: Cluster\nmetadata: {name: atlas}\ntarget: {kind: local}\n"
        "x-gpu: &gpu {instanceType: p5.48xlarge, maxSize: 4}\nnodePools:\n  - {<<: *gpu, name: a}\n"
        "  - {<<: *gpu, name: b, maxSize: 2}\n"
    )
    assert [pool.max_size for pool in parse(text.encode(), "x").spec.node_pools] == [4, 2]


def test_the_error_reads_well_without_a_report() -> None:
    with pytest.raises(SpecInvalidError) as caught:
        parse(b"kind: Cluster\nmetadata: {name: 1}\n", "x.yaml")
    assert str(caught.value).startswith("reading x.yaml: 4 problems, the first one: apiVersion is missing")


def test_reading_a_spec_imports_nothing_heavy() -> None:
    heavy = ("rich", "jinja2", "httpx", "pulumi", "cryptography", "typer", "psutil", "grpc", "ruamel")
    program = f"import sys, mlcluster.spec.load; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
