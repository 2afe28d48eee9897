"""Questions: on a terminal they are asked, elsewhere they are an error."""

import io

import pytest

from mlcluster.deploy.preview.approval import agreed_to_changes
from mlcluster.deploy.preview.destruction import Destruction
from mlcluster.deploy.session.prompts import (
    agreed_to_destroy,
    agreed_to_start,
    agreed_to_steps,
    require_answers,
)
from mlcluster.errors import ExitCode, MlclusterError

pytestmark = pytest.mark.unit

TEAM = Destruction("namespace", "students", ("1 jobs (thesis)",))
POOL = Destruction("pool", "train", ())


class Terminal(io.StringIO):
    """Somebody who types these lines."""

    def isatty(self) -> bool:
        return True


def typing(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("".join(f"{line}\n" for line in lines)))


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe for standard input, with a yes in it that counts for nothing."""
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))


def changes(*going: Destruction, named: tuple[str, ...] = (), yes: bool = False, count: int = 3) -> bool:
    return agreed_to_changes(count, list(going), named, yes=yes)


@pytest.mark.usefixtures("nobody")
class TestWithoutATerminal:
    def test_no_changes_need_no_answer(self) -> None:
        assert changes(count=0)

    def test_yes_is_enough_where_nothing_is_destroyed(self) -> None:
        assert changes(yes=True)

    def test_nobody_to_ask(self) -> None:
        with pytest.raises(MlclusterError, match="there is no terminal to ask on") as caught:
            changes()
        assert caught.value.hint == "Add `--yes`."
        assert caught.value.exit_code is ExitCode.USAGE

    def test_it_is_found_before_anything_starts(self) -> None:
        require_answers(yes=True)
        with pytest.raises(MlclusterError, match="no terminal"):
            require_answers(yes=False)

    @pytest.mark.parametrize("yes", [True, False])
    def test_yes_does_not_stand_for_a_name(self, yes: bool) -> None:
        with pytest.raises(MlclusterError) as caught:
            changes(TEAM, yes=yes)
        assert "this would delete namespace/students with 1 jobs (thesis)" in caught.value.happened
        assert caught.value.hint == "if you mean it: --allow-destroy namespace/students"

    def test_named_and_agreed(self) -> None:
        assert changes(TEAM, named=("namespace/students",), yes=True)

    def test_named_but_not_agreed(self) -> None:
        with pytest.raises(MlclusterError, match="no terminal"):
            changes(TEAM, named=("namespace/students",))

    def test_down(self) -> None:
        assert agreed_to_destroy("atlas", yes=True)
        with pytest.raises(MlclusterError, match="no terminal"):
            agreed_to_destroy("atlas", yes=False)

    def test_no_standard_input_at_all(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdin", None)
        with pytest.raises(MlclusterError, match="no terminal"):
            changes()


class TestOnATerminal:
    @pytest.mark.parametrize(
        ("answer", "agreed"), [("y", True), ("YES", True), (" y ", True), ("n", False), ("", False), ("No", False)]
    )
    def test_changes(
        self, answer: str, agreed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        typing(monkeypatch, answer)
        assert changes() is agreed
        captured = capsys.readouterr()
        assert captured.err == "Apply 3 changes? [y/N] "
        assert captured.out == ""

    def test_the_end_of_input_is_a_no(self, monkeypatch: pytest.MonkeyPatch) -> None:
        typing(monkeypatch)
        assert not changes()
        assert not agreed_to_destroy("atlas", yes=False)

    def test_what_goes_is_typed_by_name(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        typing(monkeypatch, "namespace/students", "pool/train", "y")
        assert changes(TEAM, POOL)
        asked = capsys.readouterr().err
        assert "This deletes namespace/students with 1 jobs (thesis). Type namespace/students to go on: " in asked
        assert "This deletes pool/train. Type pool/train to go on: " in asked

    def test_another_answer_than_yes_or_no_is_named_and_asked_again(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        typing(monkeypatch, "yep", "j", "y")
        assert changes()
        asked = "Apply 3 changes? [y/N] "
        assert capsys.readouterr().err == (
            f'{asked}"yep" is neither yes nor no.\n{asked}"j" is neither yes nor no.\n{asked}'
        )

    def test_three_answers_that_do_not_fit_are_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        typing(monkeypatch, "yep", "j", "x", "y")
        with pytest.raises(MlclusterError, match='the last one was "x"; nothing was changed') as caught:
            changes()
        assert caught.value.exit_code == 1
        assert caught.value.hint == "Run the same command again and type y or n."

    @pytest.mark.parametrize("typed", ["n", "no", ""])
    def test_no_instead_of_a_name_declines(self, typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
        typing(monkeypatch, typed, "namespace/students", "y")
        assert not changes(TEAM)

    @pytest.mark.parametrize("typed", ["y", "students", "namespace/student"])
    def test_anything_else_than_the_name_is_told_and_asked_again(
        self, typed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        typing(monkeypatch, typed, "namespace/students", "y")
        assert changes(TEAM)
        assert f'"{typed}" is not "namespace/students".\n' in capsys.readouterr().err

    def test_who_has_agreed_to_the_plan_is_asked_for_names_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        typing(monkeypatch, "namespace/students")
        assert agreed_to_changes(3, [TEAM], (), yes=False, agreed=True)
        assert agreed_to_changes(3, [], (), yes=False, agreed=True)
        assert not agreed_to_changes(3, [TEAM], (), yes=False, agreed=True)  # the input has ended

    def test_one_change_is_singular(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        typing(monkeypatch, "y")
        assert changes(count=1)
        assert capsys.readouterr().err == "Apply 1 change? [y/N] "

    def test_a_start(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        typing(monkeypatch, "n")
        assert agreed_to_start("Start the lab atlas?", yes=True)
        assert capsys.readouterr().err == ""
        assert not agreed_to_start("Start the lab atlas?", yes=False)
        assert capsys.readouterr().err == "Start the lab atlas? [y/N] "

    def test_what_was_named_is_not_asked_again(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        typing(monkeypatch, "y")
        assert changes(TEAM, named=("Namespace/Students",))
        assert capsys.readouterr().err == "Apply 3 changes? [y/N] "

    def test_yes_is_not_asked_but_names_are_still_wanted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        typing(monkeypatch, "namespace/students", "y")
        with pytest.raises(MlclusterError, match="this would delete"):
            changes(TEAM, yes=True)

    @pytest.mark.parametrize(("typed", "agreed"), [("atlas", True), ("n", False), ("", False)])
    def test_down(self, typed: str, agreed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        typing(monkeypatch, typed)
        assert agreed_to_destroy("atlas", yes=False) is agreed

    def test_yes_where_the_name_is_wanted_is_an_error_in_the_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        typing(monkeypatch, "y", "yes", "Atlas")
        with pytest.raises(MlclusterError, match='the last one was "Atlas"; nothing was changed') as caught:
            agreed_to_destroy("atlas", yes=False)
        assert int(caught.value.exit_code) == int(ExitCode.DECLINED) == 1
        assert "type atlas, or n to decline" in caught.value.hint

    def test_a_cluster_may_be_called_no(self, monkeypatch: pytest.MonkeyPatch) -> None:
        typing(monkeypatch, "no")
        assert agreed_to_destroy("no", yes=False)


class TestStepsByHand:
    def test_they_are_named_in_the_question(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        typing(monkeypatch, "yes")
        assert agreed_to_steps(["Kueue 0.19.2", "JobSet 0.12.0"], yes=False)
        assert "Kueue 0.19.2, JobSet 0.12.0: are the steps listed above done" in capsys.readouterr().err

    @pytest.mark.parametrize("answer", ["", "n"])
    def test_no_declines(self, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
        typing(monkeypatch, answer)
        assert not agreed_to_steps(["Kueue 0.19.2"], yes=False)
