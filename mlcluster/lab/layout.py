"""The files of a lab: all in one private directory."""

import contextlib
import shutil
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Layout:
    """The paths below `root`; this class creates no files."""

    root: Path

    @property
    def pki(self) -> Path:
        return self.root / "pki"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def etcd(self) -> Path:
        return self.root / "etcd"

    @property
    def controllers(self) -> Path:
        return self.root / "controllers"

    @property
    def record(self) -> Path:
        return self.root / "state.json"

    @property
    def baseline(self) -> Path:
        return self.root / "baseline-keys.txt"

    @property
    def scheduler_config(self) -> Path:
        return self.root / "scheduler.json"

    @property
    def kwok_config(self) -> Path:
        return self.root / "kwok.yaml"

    @property
    def lock(self) -> Path:
        """The lock file, beside the root, so that it outlives a reset of the lab."""
        return self.root.with_name(f".{self.root.name}.lock")

    def wipe(self) -> None:
        """Delete the files of a lab, and the root if it is then empty, so that a wrong root loses no other files."""
        for name in ("pki", "logs", "etcd", "controllers", "visibility"):
            shutil.rmtree(self.root / name, ignore_errors=True)
        files = [self.baseline, self.scheduler_config, self.kwok_config, *self.root.glob("*.kubeconfig")]
        for file in [
            *files,
            *self.root.glob(".*.new"),
            self.record,
        ]:  # the record last: data without a record belongs to no lab
            file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.root.rmdir()

    def kubeconfig(self, user: str) -> Path:
        return self.root / f"{user}.kubeconfig"

    def certificate(self, name: str) -> Path:
        return self.pki / f"{name}.crt"

    def key(self, name: str) -> Path:
        return self.pki / f"{name}.key"

    def log(self, component: str) -> Path:
        return self.logs / f"{component}.log"
