"""Check the programs that mlcluster starts: the engine, Helm, the programs of the lab, the AWS CLI."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mlcluster.aws.cli import FIX, AwsCli, spell
from mlcluster.checks.model import Check, not_needed, ok, problem, warning

Version = tuple[int, int, int]

ENGINE, HELM, LAB, AWS_CLI = "engine", "helm", "lab programs", "AWS CLI"


@dataclass(frozen=True, slots=True)
class Program:
    """A program and its possible sources.

    Attributes:
        on_path: its path on PATH; None if there is none.
        version: the version that this one prints; None if it prints none.
        fits: whether mlcluster accepts this version.
        built: the program that mlcluster built; None before that.
        wanted: the accepted versions, as text.
    """

    on_path: Path | None
    version: Version | None
    fits: bool
    built: Path | None
    wanted: str

    @property
    def used(self) -> Path | None:
        """The program that mlcluster starts: the one on PATH if its version is accepted."""
        return self.on_path if self.fits else self.built


def engine_check(engine: Program, building: str) -> Check:
    """Check that there is a supported Pulumi engine.

    Args:
        engine: the engine.
        building: the time and space of a build, as a clause.
    """
    other = _unfit(engine)
    if engine.fits and engine.version:
        return ok(ENGINE, f"pulumi {spell(engine.version)} ({engine.on_path})")
    if engine.built:
        return ok(ENGINE, f"pulumi built by mlcluster ({engine.built}){f'; {other}' if other else ''}")
    fix = f"Put Pulumi {engine.wanted} on PATH, or let the next command build it: {building}."
    return warning(ENGINE, other or "there is no pulumi on PATH, and none is built yet", fix)


def _unfit(program: Program) -> str:
    if program.on_path is None or program.fits:
        return ""
    version = f"has version {spell(program.version)}" if program.version else "does not print its version"
    return f"{program.on_path} {version} and is not used: mlcluster requires {program.wanted}"


def helm_check(helm: Program, configured: str, engine: Path | None) -> Check:
    """Check that the built-in Kubernetes provider will find Helm.

    The provider starts `$MLCLUSTER_HELM`, else `helm` from PATH, where the directory of the engine comes first.

    Args:
        helm: the Helm program.
        configured: value of MLCLUSTER_HELM; "" if it is not set.
        engine: the engine that will run; None if it must be built first, together with Helm.
    """
    if configured:
        known = Path(configured).is_file()
        return (
            ok(HELM, f"{configured} (MLCLUSTER_HELM)") if known else _no_helm(f"MLCLUSTER_HELM: no file {configured}")
        )
    if engine is None:
        return ok(HELM, "it is built together with the engine")
    if helm.built is not None and helm.built.parent == engine.parent:
        return ok(HELM, f"helm built by mlcluster ({helm.built})")
    if helm.fits and helm.version:
        return ok(HELM, f"helm {spell(helm.version)} ({helm.on_path})")
    return _no_helm(_unfit(helm) or "helm is not on PATH")


def _no_helm(found: str) -> Check:
    return problem(HELM, found, "Put Helm 3 on PATH, or set MLCLUSTER_HELM to its program.")


def lab_check(missing: Sequence[str], go: str, building: str, *, needed: bool) -> Check:
    """Check that the programs of the lab are built.

    Args:
        missing: programs that must be built.
        go: the Go on PATH as text; "" if there is no suitable one.
        building: the time and space of a build, as a clause.
        needed: whether the spec is for the lab.
    """
    if not missing:
        return ok(LAB, "all are built")
    names = ", ".join(missing)
    if not needed:
        return not_needed(LAB, f"not built: {names}; needed only for `target.kind: local`")
    source = f"with {go}" if go else "with Go from its wheel, because no Go that is new enough is on PATH"
    return warning(LAB, f"not built: {names}", f"Nothing, if you can wait: `up` builds them {source}; {building}.")


def aws_cli_check(cli: AwsCli, *, needed: bool) -> Check:
    """Check that the eks component and the kubeconfig can use the AWS CLI."""
    if not cli.problem and cli.version:
        return ok(AWS_CLI, f"aws {spell(cli.version)} ({cli.path})")
    if not needed:
        return not_needed(AWS_CLI, f"{cli.problem}; needed only for `target.kind: eks`")
    return problem(AWS_CLI, f"{cli.problem}; the eks component and the kubeconfig call it", FIX)
