"""Findings as text and as data, each with its place in the spec."""

import json
from pathlib import Path

import pytest

from mlcluster.findings import Finding, finding
from mlcluster.report.findings import findings_document, findings_text
from mlcluster.spec.document import Document
from mlcluster.spec.load import parse

pytestmark = pytest.mark.unit

SPEC = b"""apiVersion: mlcluster/v1alpha1
kind: Cluster
metadata: {name: atlas}
target: {kind: local}
nodePools:
  - {name: system, instanceType: m7i.2xlarge, maxSize: 4}
teams:
  - name: nobody
"""
QUIET = finding("NET001", ("teams",), "policies are created, but", "use another CNI")
NOBODY = finding("QTA001", ("teams", 0), "team nobody is guaranteed nothing", "add a guarantee")
BUDGET = finding("CST001", ("budget", "maxHourlyUsd"), "too much")


@pytest.fixture
def document() -> Document:
    return parse(SPEC, "cluster.yaml").document


def text_of(document: Document, *findings: Finding) -> str:
    return findings_text(findings, document, "cluster.yaml", color=False)


def test_no_findings(document: Document) -> None:
    assert text_of(document) == "cluster.yaml: valid\n"


def test_a_finding_with_line_caret_and_hint(document: Document) -> None:
    assert text_of(document, NOBODY) == (
        "cluster.yaml:8:5: teams[0] (nobody): warning QTA001: team nobody is guaranteed nothing\n"
        "     8 |   - name: nobody\n"
        "       |     ^\n"
        "         add a guarantee\n"
        "\n"
        "cluster.yaml: valid (1 warning)\n"
    )


def test_the_last_line_counts(document: Document) -> None:
    text = text_of(document, BUDGET, NOBODY, NOBODY, QUIET, QUIET)
    assert text.splitlines()[-1] == "cluster.yaml: blocked (1 error, 2 warnings, 2 notes)"
    assert text_of(document, QUIET).splitlines()[-1] == "cluster.yaml: valid (1 note)"


def test_an_allowed_finding_shows_its_reason(document: Document) -> None:
    text = text_of(document, NOBODY.allow("they come next year"))
    assert "is guaranteed nothing (allowed: they come next year)" in text


def test_a_place_that_is_not_written_is_the_nearest_that_is(document: Document) -> None:
    assert text_of(document, BUDGET).startswith("cluster.yaml:1:1: ")


def test_as_data(document: Document) -> None:
    data = findings_document((NOBODY.allow("they come next year"), QUIET), document)
    assert json.loads(json.dumps(data)) == data
    assert (data["apiVersion"], data["kind"]) == ("mlcluster/v1alpha1", "FindingList")
    first, second = data["findings"]
    assert (first["id"], first["severity"], first["allowed"]) == ("QTA001", "warning", "they come next year")
    assert (first["file"], first["line"], first["column"]) == ("cluster.yaml", 8, 5)
    assert (first["path"], first["message"]) == ("teams[0] (nobody)", "team nobody is guaranteed nothing")
    assert (second["hint"], second["allowed"]) == ("use another CNI", "")


def test_the_page_of_a_finding_exists(project_root: Path) -> None:
    from mlcluster.report.findings import DOCUMENTATION

    assert (project_root / DOCUMENTATION).is_file()
