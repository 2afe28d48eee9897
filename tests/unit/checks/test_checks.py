"""Each check on given facts: its text, its severity, and its hint."""

import errno
import json
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mlcluster.aws.cli import AwsCli
from mlcluster.checks.model import Check, Question, State, not_needed, ok, problem, run, warning
from mlcluster.checks.plugins import plugin_checks
from mlcluster.checks.programs import Program, aws_cli_check, engine_check, helm_check, lab_check
from mlcluster.checks.stacks import file_backend_check, lock_checks, remote_backend_check
from mlcluster.checks.storage import directory_check, may_write
from mlcluster.engine.locks import Lock
from mlcluster.engine.plugin_pins import PluginPin, Presence
from mlcluster.engine.plugin_pins import State as PluginState
from mlcluster.errors import MlclusterError
from mlcluster.processes import Answer
from mlcluster.progress import Silent
from mlcluster.report.checks_text import checks_text, doctor_document

pytestmark = pytest.mark.unit

UNREADABLE = "x" * 300
"""A lookup of this name raises the OSError of an inaccessible directory, which root could access."""

PATH, BUILT = Path("/usr/bin/pulumi"), Path("/cache/bin/pulumi")
WANTED = "3.259.0 up to below 3.280.0"
NONE = Program(None, None, fits=False, built=None, wanted=WANTED)


def _engine(version: tuple[int, int, int] | None, *, fits: bool, built: Path | None = None) -> Program:
    return Program(PATH, version, fits, built, WANTED)


class TestEngine:
    def test_one_on_path_that_fits(self) -> None:
        program = _engine((3, 260, 1), fits=True, built=BUILT)
        assert engine_check(program, "") == ok("engine", "pulumi 3.260.1 (/usr/bin/pulumi)")
        assert program.used == PATH

    def test_one_that_was_built(self) -> None:
        program = _engine((3, 200, 0), fits=False, built=BUILT)
        found = engine_check(program, "")
        assert found.state is State.OK
        assert found.found == (
            "pulumi built by mlcluster (/cache/bin/pulumi); /usr/bin/pulumi has version 3.200.0 and is not used: "
            "mlcluster requires 3.259.0 up to below 3.280.0"
        )
        assert program.used == BUILT

    def test_none_that_fits_is_built_by_the_next_command(self) -> None:
        for program in (NONE, _engine((3, 200, 0), fits=False), _engine(None, fits=False)):
            found = engine_check(program, "twenty minutes")
            assert found.state is State.WARNING
            assert WANTED in found.fix
            assert "twenty minutes" in found.fix


class TestHelm:
    HELM = Program(Path("/usr/bin/helm"), (3, 18, 0), fits=True, built=None, wanted="version 3")

    def test_on_path(self) -> None:
        assert helm_check(self.HELM, "", PATH) == ok("helm", "helm 3.18.0 (/usr/bin/helm)")

    def test_beside_the_engine_that_was_built(self) -> None:
        built = Program(None, None, fits=False, built=BUILT.with_name("helm"), wanted="version 3")
        assert helm_check(built, "", BUILT).state is State.OK
        assert helm_check(built, "", PATH) == problem(
            "helm", "helm is not on PATH", "Put Helm 3 on PATH, or set MLCLUSTER_HELM to its program."
        )

    def test_another_major_version(self) -> None:
        other = Program(Path("/usr/bin/helm"), (4, 0, 1), fits=False, built=None, wanted="version 3")
        assert "has version 4.0.1" in helm_check(other, "", PATH).found

    def test_it_comes_with_the_engine(self) -> None:
        assert helm_check(NONE, "", None).state is State.OK

    def test_a_configured_one(self, tmp_path: Path) -> None:
        (tmp_path / "helm").touch()
        assert helm_check(NONE, str(tmp_path / "helm"), PATH).state is State.OK
        assert helm_check(self.HELM, str(tmp_path / "gone"), PATH).state is State.PROBLEM


def test_programs_of_the_lab() -> None:
    assert lab_check([], "", "", needed=True).state is State.OK
    assert lab_check(["etcd"], "", "", needed=False).state is State.NOT_NEEDED
    with_go = lab_check(["etcd", "kueue"], "Go 1.26.6 (/usr/bin/go)", "ten minutes", needed=True)
    assert (with_go.state, with_go.found) == (State.WARNING, "not built: etcd, kueue")
    assert "with Go 1.26.6" in with_go.fix
    assert "from its wheel" in lab_check(["etcd"], "", "ten minutes", needed=True).fix


def test_the_aws_cli() -> None:
    fitting = AwsCli(Path("/usr/bin/aws"), (2, 7, 0), "")
    missing = AwsCli(None, None, "the AWS CLI (`aws`) is not on PATH")
    assert aws_cli_check(fitting, needed=True) == ok("AWS CLI", "aws 2.7.0 (/usr/bin/aws)")
    assert aws_cli_check(missing, needed=False).state is State.NOT_NEEDED
    needed = aws_cli_check(missing, needed=True)
    assert needed.state is State.PROBLEM
    assert needed.fix.startswith("Install AWS CLI 2.7 or newer")


def test_plugins() -> None:
    pin = PluginPin("eks", "4.4.0", ("control plane of eks",))
    there = Presence(pin, PluginState.INSTALLED, "/home/plugins/x")
    missing = Presence(pin, PluginState.PARTIAL, "/home/plugins/x")
    assert plugin_checks([there], "a.yaml") == [ok("plugin eks v4.4.0", "installed (/home/plugins/x)")]
    assert plugin_checks([missing], "a.yaml") == [
        problem(
            "plugin eks v4.4.0",
            "not finished; needed by control plane of eks",
            "Run `mlcluster plugins install a.yaml`.",
        )
    ]
    assert plugin_checks([there], "") == plugin_checks([there], "a.yaml")
    assert plugin_checks([missing], "") == [
        not_needed("plugin eks v4.4.0", "not finished; needed only for `target.kind: eks`")
    ]
    optional = PluginPin("kubernetes", "4.34.2", ("x",), optional=True)
    (found,) = plugin_checks([Presence(optional, PluginState.MISSING, "/home/plugins/y")], "")
    assert found.found == "not installed; needed only for `kubernetesProvider: official`"


def test_a_check_that_is_not_needed_counts_neither_as_ok_nor_as_a_problem() -> None:
    checks = [ok("disk", "fine"), not_needed("plugin eks v4.4.0", "not installed")]
    assert checks_text(checks, color=False).splitlines() == [
        "ok          disk               fine",
        "not needed  plugin eks v4.4.0  not installed",
        "1 ok, 1 not needed",
    ]
    document = doctor_document(checks, None)
    assert (document["healthy"], document["checks"][1]["state"]) == (True, "notNeeded")


class TestDirectories:
    PLACE = Path("/state")

    @pytest.mark.parametrize(
        ("free", "needed", "state"),
        [
            (5_000_000_000, 0, State.OK),
            (500_000_000, 0, State.WARNING),
            (50_000_000, 0, State.PROBLEM),
            (5_000_000_000, 13_000_000_000, State.PROBLEM),
        ],
    )
    def test_room(self, free: int, needed: int, state: State) -> None:
        found = directory_check("state directory", self.PLACE, "MLCLUSTER_STATE_DIR", free, needed=needed)
        assert found.state is state
        assert ("MLCLUSTER_STATE_DIR" in found.fix) is (state is not State.OK)

    def test_one_that_cannot_be_written_to(self) -> None:
        found = directory_check("state directory", self.PLACE, "X", 10**12, writable=False)
        assert (found.state, found.found) == (State.PROBLEM, "/state cannot be written to")

    def test_may_write(self, tmp_path: Path) -> None:
        assert may_write(tmp_path / "later" / "deeper")
        (tmp_path / "file").touch()
        assert not may_write(tmp_path / "file" / "below")
        assert not may_write(tmp_path / UNREADABLE / "below")


class TestBackends:
    def test_files(self, tmp_path: Path) -> None:
        assert file_backend_check(tmp_path, own=False) == ok("state backend", f"files in {tmp_path}")
        assert file_backend_check(tmp_path / "later", own=True).state is State.OK
        assert file_backend_check(tmp_path / "gone", own=False).state is State.PROBLEM
        assert file_backend_check(tmp_path, own=False, writable=lambda _place: False).state is State.PROBLEM

    def test_others(self) -> None:
        url = "s3://jo:secret@bucket/x"
        assert remote_backend_check(url, Answer(0, "[]"), 40).state is State.OK
        silent = remote_backend_check(url, Answer(None), 40)
        assert (silent.state, silent.found) == (State.PROBLEM, "s3://***@bucket/x does not respond within 40 s")
        refused = remote_backend_check(url, Answer(255, "", "error: could not open bucket: NoSuchBucket\n"), 40)
        assert refused.state is State.PROBLEM
        assert "the state backend cannot be reached" in refused.found
        assert "secret" not in refused.found
        assert refused.fix


class TestLocks:
    LOCK = Lock(42, "jo", "host", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "/x.json")

    def _one(self, *, alive: bool | None) -> Check:
        (found,) = lock_checks([("mlcluster-platform", [self.LOCK])], "a.yaml", lambda _lock: alive)
        assert found.name == "lock of mlcluster-platform"
        assert "pid 42 of jo@host since 2026-01-02 03:04:05 UTC" in found.found
        return found

    def test_none(self) -> None:
        assert lock_checks([("mlcluster-platform", [])], "a.yaml") == [ok("locks", "no lock is held")]

    def test_a_holder_that_runs(self) -> None:
        found = self._one(alive=True)
        assert (found.state, found.fix) == (State.WARNING, "Wait for it to end.")

    def test_a_holder_that_ended(self) -> None:
        found = self._one(alive=False)
        assert found.state is State.WARNING
        assert "`mlcluster unlock a.yaml`" in found.fix

    def test_a_holder_elsewhere(self) -> None:
        found = self._one(alive=None)
        assert found.state is State.PROBLEM
        assert "--assume-dead" in found.fix


class TestRunning:
    def test_checks_come_in_order_and_errors_are_problems(self) -> None:
        def fails() -> list[Check]:
            raise MlclusterError("looking", "it is broken", "Repair it.")

        checks, given_up = run([Question("a", lambda: [ok("a", "x")]), Question("b", fails)], Silent())
        assert checks == [ok("a", "x"), problem("b", "it is broken", "Repair it.")]
        assert not given_up

    def test_what_may_not_be_looked_at_is_a_problem(self) -> None:
        def fails() -> list[Check]:
            raise PermissionError(errno.EACCES, "Permission denied", "/home/jo/state")

        (found,), _ = run([Question("state", fails)], Silent())
        assert (found.name, found.state) == ("state", State.PROBLEM)
        assert found.found == "[Errno 13] Permission denied: '/home/jo/state'"
        assert "/home/jo/state" in found.fix

    def test_one_that_never_answers_is_given_up_and_the_next_one_runs(self) -> None:
        release = threading.Event()

        def waits() -> list[Check]:
            release.wait()
            return []

        try:
            checks, given_up = run([Question("a", waits, 0.05), Question("b", lambda: [ok("b", "x")])], Silent())
        finally:
            release.set()
        assert given_up
        assert [(check.name, check.state) for check in checks] == [("a", State.PROBLEM), ("b", State.OK)]
        assert checks[0].found == "no answer within 0.05 s"

    def test_a_bug_comes_through(self) -> None:
        with pytest.raises(ZeroDivisionError):
            run([Question("a", lambda: [ok("a", str(1 // 0))])], Silent())


class TestReport:
    CHECKS = (ok("engine", "pulumi 3.260.1"), warning("disk", "little", "Free some."), problem("lock", "held", "Wait."))

    def test_lines(self) -> None:
        assert checks_text(self.CHECKS, color=False).splitlines() == [
            "ok       engine  pulumi 3.260.1",
            "warning  disk    little",
            "                 fix: Free some.",
            "problem  lock    held",
            "                 fix: Wait.",
            "1 ok, 1 warning, 1 problem",
        ]
        assert "\x1b[31mproblem" in checks_text(self.CHECKS, color=True)

    def test_data(self) -> None:
        document = doctor_document(self.CHECKS, "a.yaml")
        assert json.loads(json.dumps(document)) == document
        assert (document["kind"], document["spec"], document["healthy"]) == ("DoctorReport", "a.yaml", False)
        assert document["checks"][2] == {"check": "lock", "state": "problem", "found": "held", "fix": "Wait."}
        assert doctor_document(self.CHECKS[:2], None)["healthy"] is True
