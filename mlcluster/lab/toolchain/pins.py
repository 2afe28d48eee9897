"""The programs of the toolchain, their versions, and the key under which a build is cached.

`go.mod` and `go.sum` beside this file pin every module; a tool's version is the version of its module there.
"""

import hashlib
import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
STRIP = "-s -w"  # without symbol tables the nine programs take 0.7 GB instead of 1.1 GB
KUBERNETES = "k8s.io/component-base/version"
_REQUIRE = re.compile(r"^\s*(?:require\s+)?(?P<module>\S+)\s+(?P<version>v\S+?)(?:\s+// indirect)?\s*$", re.MULTILINE)
_GO_LINE = re.compile(r"^go (\d+)\.(\d+)(?:\.(\d+))?", re.MULTILINE)


@dataclass(frozen=True)
class Edit:
    """A change to one source file of a tool's module, made to a copy for the build: `old` stands there exactly once."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Tool:
    """One program: `package` is what Go builds, `module` names its version, `stamps` are linker variables.

    A build from modules knows no git tag, so the linker sets what a release build would: without it the API server
    calls itself v0.0.0-master and Pulumi refuses to read its own version. `{v}` stands for the version without "v".

    Attributes:
        tags: build tags.
        edits: what is changed of its source, because no flag of the program does it.
        manifests: the directory of its module that is kept beside the program: a chart, or objects for kustomize.
    """

    name: str
    package: str
    module: str
    stamps: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    manifests: str = ""

    def ldflags(self, version: str) -> str:
        """The linker flags for `version` ("1.36.3")."""
        major, minor = version.split(".")[:2]
        return " ".join([STRIP, *(f"-X {stamp.format(v=version, major=major, minor=minor)}" for stamp in self.stamps)])


def _kubernetes(name: str) -> Tool:
    stamps = ("gitVersion=v{v}", "gitMajor={major}", "gitMinor={minor}", "gitCommit=", "gitTreeState=clean")
    return Tool(
        name, f"k8s.io/kubernetes/cmd/{name}", "k8s.io/kubernetes", tuple(f"{KUBERNETES}.{stamp}" for stamp in stamps)
    )


# In the order of a build: those that share the most packages stand together, kubectl and helm are there early.
TOOLS = (
    Tool("etcd", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3"),
    _kubernetes("kube-apiserver"),
    _kubernetes("kube-controller-manager"),
    _kubernetes("kube-scheduler"),
    _kubernetes("kubectl"),
    Tool("kwok", "sigs.k8s.io/kwok/cmd/kwok", "sigs.k8s.io/kwok"),
    Tool("helm", "helm.sh/helm/v3/cmd/helm", "helm.sh/helm/v3", ("helm.sh/helm/v3/internal/version.version=v{v}",)),
    Tool(
        "kueue",
        "sigs.k8s.io/kueue/cmd/kueue",
        "sigs.k8s.io/kueue",
        (
            "sigs.k8s.io/kueue/pkg/version.GitVersion=v{v}",
            # Hard-coded to /visibility, which only root could make: relative to the working directory instead.
            "sigs.k8s.io/kueue/pkg/visibility.certDir=visibility",
        ),
    ),
    Tool(
        "pulumi",
        "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
        "github.com/pulumi/pulumi/pkg/v3",
        ("github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v{v}",),
    ),
)
NAMES = tuple(tool.name for tool in TOOLS)


def versions(go_mod: str) -> dict[str, str]:
    """Module -> version without "v", as the text of a `go.mod` requires them; replacements are not looked at."""
    required = go_mod.split("\nreplace", 1)[0]
    return {found["module"]: found["version"].removeprefix("v") for found in _REQUIRE.finditer(required)}


def pinned(tool: Tool) -> str:
    """The version of `tool` that our go.mod pins, such as "1.36.3"."""
    return versions((HERE / "go.mod").read_text())[tool.module]


def go_version(go_mod: str) -> tuple[int, int, int]:
    """The version of Go that the modules ask for at least."""
    found = _GO_LINE.search(go_mod)
    if found is None:
        message = "go.mod has no go line"
        raise ValueError(message)
    return int(found[1]), int(found[2]), int(found[3] or 0)


def key() -> str:
    """Names a build: changes with the modules, their sums, the tools, their linker flags and the platform.

    Programs that are built only when asked for have a key of their own on top of it: see `optional.key`.
    """
    digest = hashlib.sha256()
    for part in (HERE / "go.mod").read_bytes(), (HERE / "go.sum").read_bytes(), _recipe().encode():
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:16]


def _recipe() -> str:
    lines = [f"{tool.name} {tool.package} {tool.ldflags(pinned(tool))}" for tool in TOOLS]
    return "\n".join([f"{sys.platform} {platform.machine()} CGO_ENABLED=0 trimpath", *lines])
