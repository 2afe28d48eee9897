"""Error output of the engine, and the errors that mlcluster makes of it. The samples are from engine 3.259."""

from datetime import UTC, datetime

import pytest

from mlcluster.engine.failures import Failed, explain, lock_conflict, scrub
from mlcluster.engine.locks import Lock
from mlcluster.errors import ExitCode

pytestmark = pytest.mark.unit
HELD = (
    "error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete the lock"
    " file with `pulumi cancel`.\n  file:///s/.pulumi/locks/organization/p/atlas/abc.json?no_tmp_dir=true: created by"
    " jo@build-7 (pid 17) at 2026-11-21T09:00:00Z"
)


@pytest.mark.parametrize(
    ("stderr", "happened"),
    [
        (
            "error: getting stack configuration: get stack secrets manager: incorrect passphrase",
            "the passphrase is not the one that encrypted this stack's secrets",
        ),
        (
            "error: passphrase must be set with PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE",
            "no passphrase can be read",
        ),
        (
            'error: unable to open state directory "file:///nonexist": stat /nonexist: no such file or directory',
            "the state backend cannot be reached: unable to open state directory",
        ),
        (
            'error: read ".pulumi/meta.yaml": blob (key ".pulumi/meta.yaml") (code=Unknown): operation error S3',
            "the state backend cannot be reached",
        ),
        ("error: failed to load checkpoint: EOF", "another run was writing the state at every attempt"),
        ("error: failed to load checkpoint: unexpected end of JSON input", "the state file is damaged"),
        (
            "error: could not write snapshot: write /s/atlas.json: no space left on device",
            "the disk is full",
        ),
        (
            "error: no resource plugin 'pulumi-resource-kubernetes' found in the workspace at version v4.34.2",
            "the engine has no plugin for kubernetes v4.34.2",
        ),
        ("error: no stack named 'nope' found", "there is no such stack in this backend"),
        ("error: open /s/Pulumi.yaml: permission denied", "a file of the stack cannot be read"),
        ("warning: x\nerror: something new\n", "something new"),
        ("", "ended with exit 255 without output"),
    ],
)
def test_each_engine_message_is_converted(stderr: str, happened: str) -> None:
    error = explain("previewing", Failed("my.yaml", 255, stderr))
    assert error.happened.startswith(happened) or happened in error.happened
    assert error.doing == "previewing"
    assert "\n" not in error.happened


@pytest.mark.parametrize(
    ("alive", "state", "hint"),
    [
        (True, "still running", "Wait for it to end."),
        (False, "no longer running", "Run `mlcluster unlock my.yaml`."),
        (None, "cannot be checked from this host", "Make sure that no run is in progress on that host"),
    ],
)
def test_a_lock_conflict_names_the_owner_and_whether_it_is_alive(alive: bool | None, state: str, hint: str) -> None:
    error = explain("bringing the cluster up", Failed("my.yaml", 1, HELD), alive=lambda _: alive)
    assert "pid 17 of jo@build-7 since 2026-11-21 09:00:00 UTC" in error.happened
    assert state in error.happened
    assert error.hint.startswith(hint)


def test_a_lock_conflict_without_owner_has_a_hint() -> None:
    assert "mlcluster unlock my.yaml" in lock_conflict("opening", "my.yaml", []).hint


def test_one_live_owner_among_dead_ones_means_waiting() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    locks = [Lock(pid, "jo", "h", moment, "") for pid in (1, 2)]
    assert lock_conflict("opening", "my.yaml", locks, alive=lambda lock: lock.pid == 2).hint == "Wait for it to end."


def test_failed_resources_are_listed_by_plan_id() -> None:
    failed = Failed("my.yaml", 1, "error: update failed", [("Namespace/a", "quota exceeded"), ("ConfigMap/a/b", "")])
    error = explain("bringing the cluster up", failed)
    assert error.happened == "2 resources failed\n  Namespace/a: quota exceeded\n  ConfigMap/a/b: failed"


def test_an_exception_of_the_program_is_one_line_and_a_bug() -> None:
    failed = Failed(
        "atlas", 1, "", program_error="python inline source runtime error: x\nTraceback:\nKeyError: 'uid'\n\n"
    )
    error = explain("previewing", failed)
    assert error.happened == "the Pulumi program failed: KeyError: 'uid'"
    assert error.exit_code is ExitCode.BUG


def test_a_killed_engine_is_reported() -> None:
    error = explain("bringing the cluster up", Failed("my.yaml", -9, ""))
    assert "killed (exit -9)" in error.happened
    assert "same command again" in error.hint


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("cannot open https://jo:hunter2@state.example/x", "cannot open https://***@state.example/x"),
        ("token pul-0123456789abcdef0123456789abcdef", "token ***"),
        ("AccountKey=abc123==;x", "AccountKey=***;x"),
        ("password=hunter2 refused", "password=*** refused"),
    ],
)
def test_secrets_are_removed(text: str, clean: str) -> None:
    assert scrub(text) == clean
    assert clean in explain("opening", Failed("my.yaml", 1, f"error: {text}")).happened


def test_a_missing_plugin_is_reported_with_the_install_command() -> None:
    said = "error: no resource plugin 'pulumi-resource-aws' found in the workspace at version v7.51.1 or on your $PATH"
    error = explain("previewing", Failed("my.yaml", 255, said))
    assert error.happened == "the engine has no plugin for aws v7.51.1"
    assert "`mlcluster plugins install`" in error.hint
