"""Files under `templates/`: each is in some plan, refers only to defined names, and has all placeholders filled."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcluster.catalog.gpus import ACCELERATOR_TAINT
from mlcluster.plan import build, job_kinds, names
from mlcluster.plan.admission import NAMES
from mlcluster.plan.model import Manifest, Plan
from mlcluster.plan.policy_values import cel, policy_values
from mlcluster.plan.templates import TemplateError, Values, fill
from mlcluster.spec.load import load
from tests.specs import EXISTING, SYSTEM, TRAIN, Data, planned

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
TEMPLATES = ROOT / "templates"
POLICIES = sorted((TEMPLATES / "policies").glob("*.yaml"))
FILES = sorted(TEMPLATES.rglob("*.yaml"))
WATCHED: Data = {"monitoring": {}, "gpuOperator": {}, "nodeProblemDetector": {}}
VOLCANO: Data = {
    "components": {"volcano": {}},
    "teams": [{"name": "research", "guarantee": {"train": {"nodes": 2}}, "scheduler": "volcano"}, {"name": "products"}],
}


def name_of(path: Path) -> str:
    return str(path.relative_to(TEMPLATES))


def parsed(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def policy_texts() -> str:
    """Return every file of the policies, without comments."""
    texts = "\n".join(path.read_text() for path in (TEMPLATES / "policies").rglob("*.yaml"))
    return re.sub(r"(?m)^\s*#.*$", "", texts)


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    """A plan for every component alone, one with every component that has alerts, and one with a team of Volcano."""
    specs = sorted((ROOT / "tests" / "golden" / "components").glob("*/cluster.yaml"))
    together = [planned(SYSTEM, TRAIN, target=EXISTING, **rest) for rest in ({"components": WATCHED}, VOLCANO)]
    return [*together, *(build(load(path).spec) for path in specs)]


def objects(plans: list[Plan], kind: str) -> list[Manifest]:
    """Return the manifests of a kind in any of the plans."""
    return [entry.manifest for plan in plans for entry in plan.objects if entry.manifest["kind"] == kind]


@pytest.mark.parametrize(
    ("folder", "kind"), [("policies", "ValidatingAdmissionPolicy"), ("crds", "CustomResourceDefinition")]
)
def test_every_policy_and_every_crd_is_in_some_plan(folder: str, kind: str, plans: list[Plan]) -> None:
    planned_names = {manifest["metadata"]["name"] for manifest in objects(plans, kind)}
    for path in (TEMPLATES / folder).glob("*.yaml"):
        content = parsed(path)
        assert content["kind"] == kind
        assert content["metadata"]["name"] in planned_names
        if kind == "ValidatingAdmissionPolicy":
            assert content["metadata"]["name"] == f"mlcluster-{path.stem}"


def test_every_rule_is_in_some_plan(plans: list[Plan]) -> None:
    groups = [group for rule in objects(plans, "PrometheusRule") for group in rule["spec"]["groups"]]
    in_plans = {str(rule.get("alert", rule.get("record"))) for group in groups for rule in group["rules"]}
    in_files = {
        rule.get("alert", rule.get("record"))
        for path in (TEMPLATES / "rules").glob("*.yaml")
        for group in parsed(path)["groups"]
        for rule in group["rules"]
    }
    assert len(in_files) > 40
    assert in_files <= in_plans


def test_every_template_file_is_tested() -> None:
    folders = {path.name for path in TEMPLATES.iterdir()}
    assert folders == {"adapter", "crds", "init", "policies", "rules"}
    assert {name_of(path) for path in FILES} - {name_of(path) for path in POLICIES} == {
        "adapter/custom-metrics.yaml",
        "policies/shared/binding.yaml",
        "policies/shared/expressions.yaml",
        "policies/shared/lists.yaml",
        *(name_of(path) for folder in ("crds", "rules") for path in (TEMPLATES / folder).glob("*.yaml")),
    }


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_template_file_starts_with_its_purpose(path: Path) -> None:
    assert path.read_text().startswith("# ")
    assert all(len(line) <= 125 for line in path.read_text().splitlines())


@pytest.mark.parametrize("flag", [True, False])
def test_every_name_in_a_policy_is_defined(flag: bool) -> None:
    """With every condition met, and with none, also in combinations that no plan has."""
    users = job_kinds.USERS
    values = policy_values(planned(SYSTEM, TRAIN).pools, users, volcano=True)
    values = Values(dict.fromkeys(values.flags, flag), values.texts, values.expressions, values.lists)
    for path in POLICIES:
        assert "${" not in str(fill(parsed(path), values))


def test_every_name_that_the_plan_gives_is_used() -> None:
    values = policy_values(planned(SYSTEM, TRAIN).pools, job_kinds.USERS, volcano=True)
    texts = policy_texts()
    named = set(re.findall(r"\$\{(\w+)", texts))
    assert set(values.texts) | set(values.expressions) <= named
    assert set(values.lists) == set(re.findall(r"include: (\w+)", texts))
    conditions = re.findall(r"(?:when|unless): (\w+|\[[^\]]*\])", texts)
    assert set(values.flags) == {word for flags in conditions for word in re.findall(r"\w+", flags)}


def test_names_in_policies_are_those_of_the_plan() -> None:
    """Policies contain literal labels, annotations and users for readability; they equal the constants."""
    code = policy_texts()
    constants = {value for value in vars(names).values() if isinstance(value, str)}
    assert set(re.findall(r"[\w.]*mlcluster\.dev/[\w-]+", code)) <= constants
    assert set(re.findall(r"system:serviceaccount:kueue-system:[\w-]+", code)) == {names.KUEUE_USER}
    for name in (names.MANAGED_BY, names.QUEUE_NAME, names.WORKLOAD_PRIORITY, names.ADMISSION_GATE):
        assert f"'{name}'" in code
    assert f"e.key == '{ACCELERATOR_TAINT}'" in code


def test_every_job_kind_is_matched_and_validated() -> None:
    shared = TEMPLATES / "policies" / "shared"
    kinds = {kind.kind: kind for kind in job_kinds.KINDS}
    rules = {rule["when"]: rule for rule in parsed(shared / "lists.yaml")["jobKinds"]}
    assert {name: rule["apiGroups"] for name, rule in rules.items()} == {
        name: [kind.group] for name, kind in kinds.items()
    }
    lines = parsed(shared / "expressions.yaml")["jobKindTemplates"]["lines"]
    with_templates = {line["when"] for line in lines if isinstance(line, dict)}
    assert set(kinds) - with_templates == {"TrainJob"}  # its pods come from the runtime, through a JobSet


def cel_in(text: str) -> Iterator[str]:
    """Yield text that looks like CEL of a policy or PromQL of a rule."""
    yield from re.findall(r"oldObject\.|namespaceObject\.|request\.userInfo|object\.spec\.|group_left", text)


def test_no_module_of_the_plan_writes_policies_or_rules() -> None:
    assert list(cel_in("has(object.spec.nodeName) || oldObject.kind == ''"))
    found = {path.name for path in (ROOT / "mlcluster" / "plan").rglob("*.py") if list(cel_in(path.read_text()))}
    assert found == set()


# -- The four ways in which a file depends on the plan -----------------------------------------------------------------

VALUES = Values(
    flags={"on": True, "off": False},
    texts={"kinds": "['A', 'B']"},
    expressions={
        "isKind": "${it}.kind in ${kinds}",
        "both": "${isKind(${it})} && ${isKind(old)}",
        "some": {"lines": [{"when": "on", "line": "a(${it})"}, {"when": "off", "line": "|| b(${it})"}]},
        "plain": "a\n|| b",
    },
    lists={"pods": [{"resources": ["pods"]}, {"unless": "on", "resources": ["jobs"]}]},
)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("no placeholder, {x} and $1 stay", "no placeholder, {x} and $1 stay"),
        ("k in ${kinds}", "k in ['A', 'B']"),
        ("${isKind(dyn(object).x)}", "dyn(object).x.kind in ['A', 'B']"),
        ("${both(new)}", "new.kind in ['A', 'B'] && old.kind in ['A', 'B']"),
        ("${some(${kinds})}", "a(['A', 'B'])"),
        ("!x\n  && (${plain})", "!x\n  && (a\n    || b)"),
        ({"lines": ["a", {"when": "on", "line": "b"}, {"unless": "on", "line": "c"}]}, "a\nb"),
        ([{"when": ["off", "on"], "a": 1}, {"when": "off", "b": 1}, {"unless": "off", "c": 1}], [{"a": 1}, {"c": 1}]),
        ([{"include": "pods", "operations": ["CREATE"]}], [{"resources": ["pods"], "operations": ["CREATE"]}]),
        ({"a": [{"b": "${kinds}"}], "c": 1, "d": True}, {"a": [{"b": "['A', 'B']"}], "c": 1, "d": True}),
    ],
)
def test_a_template_is_filled(template: Any, expected: Any) -> None:
    assert fill(template, VALUES) == expected


@pytest.mark.parametrize(
    "template",
    [
        "${unknown}",
        "${unknown(object)}",
        "${isKind}",
        "${plain(object)}",
        "${kinds(object)}",
        "${isKind(object}",
        [{"when": "unknown", "a": 1}],
        [{"when": ["on", "unknown"], "a": 1}],
        [{"include": "unknown"}],
    ],
    ids=str,
)
def test_an_undefined_placeholder_is_an_error(template: Any) -> None:
    with pytest.raises(TemplateError):
        fill(template, VALUES)


def test_a_loaded_template_is_not_changed_by_its_users() -> None:
    template: list[Any] = [{"a": {"b": ["${kinds}"]}}]
    made = fill(template, VALUES)
    made[0]["a"]["b"].append("c")
    assert template == [{"a": {"b": ["${kinds}"]}}]


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (["a", 1, 2.5], "['a', 1, 2.5]"),
        ([{"k": "v"}], "[{'k': 'v'}]"),
        ([["it's"]], '[["it\'s"]]'),
        (600, "600"),
    ],
)
def test_values_are_written_as_cel(value: Any, literal: str) -> None:
    assert cel(value) == literal


@pytest.mark.parametrize("value", [True, None, [False], {"a": None}, ("a",)])
def test_values_that_cel_writes_differently_are_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        cel(value)


def test_no_value_brings_a_placeholder_of_its_own() -> None:
    with pytest.raises(ValueError, match="placeholder"):
        cel([{"label": "${controllers}"}])


def test_every_file_of_a_policy_is_listed() -> None:
    """A list in the code makes a file that is missing from an installation an error."""
    assert [path.stem for path in POLICIES] == list(NAMES)
