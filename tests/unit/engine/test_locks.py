"""Lock files: parsing, and whether their owner is alive."""

import json
import os
import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mlcluster.engine.home import StackHome
from mlcluster.engine.locks import (
    Lock,
    ProcessFacts,
    is_alive,
    is_orphan,
    locks_in_message,
    parse_lock,
    process_facts,
    read_locks,
    remove_locks,
)

pytestmark = pytest.mark.unit
HERE = socket.gethostname()
STARTED = datetime(2026, 11, 21, 9, 51, 18, 340508, tzinfo=UTC)
LOCK = Lock(4242, "jo", HERE, STARTED, "x.json")
WRITTEN = '{"pid":4242,"username":"jo","hostname":"build-7","timestamp":"2026-11-21T09:51:18.340508886Z"}'


def test_parsing_a_lock_file() -> None:
    assert parse_lock(WRITTEN, "x.json") == Lock(4242, "jo", "build-7", STARTED, "x.json")


@pytest.mark.parametrize(
    ("facts", "alive"),
    [
        (None, False),
        (ProcessFacts(STARTED.timestamp() - 1, "pulumi up"), True),
        (ProcessFacts(STARTED.timestamp() - 1, "python -m mlcluster up"), True),
        (ProcessFacts(STARTED.timestamp() - 1, "nginx: worker"), False),
        (ProcessFacts(STARTED.timestamp() + 60, "pulumi up"), False),
    ],
)
def test_an_owner_is_alive_if_its_process_is_an_engine_older_than_the_lock(
    facts: ProcessFacts | None, alive: object
) -> None:
    assert is_alive(LOCK, lambda _: facts) is alive


def test_an_owner_on_another_host_is_unknown() -> None:
    assert is_alive(Lock(1, "jo", "elsewhere", STARTED, ""), lambda _: ProcessFacts(0, "pulumi")) is None


def test_an_engine_is_an_orphan_after_its_parent_ended() -> None:
    assert is_orphan(LOCK, lambda _: ProcessFacts(0, "pulumi", orphaned=True))
    assert not is_orphan(LOCK, lambda _: ProcessFacts(0, "pulumi"))
    assert not is_orphan(LOCK, lambda _: None)


def test_facts_of_processes_on_this_host() -> None:
    facts = process_facts(os.getpid())
    assert facts is not None
    assert "python" in facts.words or "pytest" in facts.words
    assert process_facts(2**22 - 3) is None


def test_owners_in_an_engine_message() -> None:
    stderr = (
        "error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete the "
        "lock file with `pulumi cancel`.\n  s3://state/.pulumi/locks/organization/p/dev/abc.json?no_tmp_dir=true: "
        "created by root@build-7 (pid 17) at 2026-11-21T09:00:00Z\n"
    )
    (held,) = locks_in_message(stderr)
    assert (held.pid, held.user, held.host) == (17, "root", "build-7")
    assert held.path == "s3://state/.pulumi/locks/organization/p/dev/abc.json"
    assert held.started == datetime(2026, 11, 21, 9, tzinfo=UTC)


def _home(tmp_path: Path) -> tuple[StackHome, Path]:
    home = StackHome("atlas", tmp_path)
    directory = tmp_path / "state/.pulumi/locks/organization/p/atlas"
    directory.mkdir(parents=True)
    return home, directory


def test_locks_are_sorted_by_age_and_include_unreadable_files(tmp_path: Path) -> None:
    home, directory = _home(tmp_path)
    (directory / "a.json").write_text(json.dumps({"pid": 2, "hostname": "h", "timestamp": "2026-02-01T00:00:00Z"}))
    (directory / "b.json").write_text(json.dumps({"pid": 1, "hostname": "h", "timestamp": "2026-01-01T00:00:00Z"}))
    (directory / "c.json").write_text("{")
    found = read_locks(home, "p")
    assert [lock.pid for lock in found] == [0, 1, 2]
    assert is_alive(found[0]) is None
    assert read_locks(home, "other") == []


def test_only_the_given_locks_are_removed(tmp_path: Path) -> None:
    home, directory = _home(tmp_path)
    for name in ("a", "b"):
        (directory / f"{name}.json").write_text(WRITTEN)
    remove_locks([lock for lock in read_locks(home, "p") if lock.path.endswith("a.json")])
    assert [path.name for path in directory.iterdir()] == ["b.json"]
