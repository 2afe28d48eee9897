"""Plugins that the user installed reach the real engine: it lists them in a stack's home, and starts them."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mlcluster import kubernetes_provider
from mlcluster.engine.console import Console
from mlcluster.engine.engine import Engine
from mlcluster.engine.home import StackHome
from mlcluster.engine.settings import Provider
from tests.fakes.engine_plugins import found_by_engine, install_dummy
from tests.fakes.small_stack import SETTINGS, small_engine, small_plan

pytestmark = pytest.mark.engine
PROJECT = Path(__file__).parents[2]
SDK = kubernetes_provider.VERSION
SERVER = f"""#!/bin/sh
cd '{PROJECT}' && exec '{sys.executable}' -m tests.fakes.in_memory_provider
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's Pulumi home; no provider is attached."""
    monkeypatch.delenv("PULUMI_DEBUG_PROVIDERS", raising=False)
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "pulumi-home"))
    return tmp_path / "pulumi-home"


def _listed(console: Console) -> set[str]:
    """Return the output of `pulumi plugin ls` in the environment of a stack."""
    environment = {**os.environ, **console.environment()}
    argv = [str(console.binary), "plugin", "ls", "--json"]
    answer = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)
    return {f"{entry['name']} v{entry['version']}" for entry in json.loads(answer.stdout)}


@pytest.mark.parametrize("provider", ["official", "builtin"])
def test_the_engine_lists_installed_plugins(provider: Provider, pulumi: Path, home: Path, tmp_path: Path) -> None:
    install_dummy(home, "aws", "7.51.1")
    install_dummy(home, "kubernetes", "4.19.0")
    partial = install_dummy(home, "eks", "4.4.0")
    partial.with_name(f"{partial.name}.partial").touch()
    stack = StackHome("atlas", tmp_path / "atlas")
    old = stack.plugin_home / "plugins" / "resource-aws-v7.51.1"  # as earlier versions linked it
    old.parent.mkdir(parents=True)
    old.symlink_to(home / "plugins" / old.name)
    console = Console(stack, "mlcluster-eks", pulumi, provider, {}, lambda: None)
    builtin = {f"kubernetes v{SDK}"} if provider == "builtin" else set()
    assert _listed(console) == {"aws v7.51.1", "kubernetes v4.19.0", *builtin}
    assert set(found_by_engine(stack.plugin_home)) == _listed(console)  # the stand-in looks as the engine does


def test_the_engine_starts_an_installed_plugin(pulumi: Path, home: Path, tmp_path: Path) -> None:
    install_dummy(home, "kubernetes", SDK, SERVER)
    official = replace(SETTINGS, provider="official")
    attached = small_engine(tmp_path / "atlas", 0, small_plan(1), pulumi, settings=official)
    engine = Engine(attached.home, attached.project, attached.program, official, pulumi)
    assert engine.preview().counts == {"create": 2}
    assert engine.up().changes.counts == {"create": 2}
    assert [entry.plan_id for entry in engine.resources()] == ["ConfigMap/a/0", "Namespace/a"]
