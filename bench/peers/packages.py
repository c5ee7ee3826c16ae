"""The peers' kernel and tools: packages of newer suites of Debian, downloaded and unpacked below build/peers, never installed.

apt runs with its own lists, cache and sources; mirror, proxies and keys are the machine's. Packages that were unpacked once
are used again without asking apt; remove build/peers/packages to get newer ones.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess

from lab import kernels
from tooling import apt
from tooling.places import BUILD_ROOT, ToolError

PLACE = BUILD_ROOT / "peers" / "packages"
KEYS = pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg")
KERNEL_SUITE = "trixie-backports"
TOOLS_SUITE = "forky"
TOOLS = ("xfsprogs f2fs-tools btrfs-progs zonefs-tools libc6 libblkid1 libdevmapper1.02.1 libedit2 libinih1 liburcu8t64 libuuid1 "
         "libselinux1 libpcre2-8-0 libcom-err2 libext2fs2t64 liblzo2-2 libudev1 libcap2 libzstd1 zlib1g libtinfo6 libbsd0 libmd0 "
         "libicu78 libgcc-s1 libstdc++6").split()
# What the peers need beside the lab's modules.
MODULES = tuple("xfs f2fs btrfs xor raid6_pq zstd_compress zstd xxhash_generic blake2b lz4_compress lz4".split())


def get(screen):
    """(kernel, folder of the tools, {package: version}), downloaded if need be."""
    kernel_tree = fetched(KERNEL_SUITE, kernel_packages, screen)
    tools = fetched(TOOLS_SUITE, known_tools, screen)
    line = ".".join(kernels.module_version(kernel_tree).split(".")[:2])
    return kernels.opened(line, kernel_tree, MODULES), tools, {**versions(kernel_tree), **versions(tools)}


def tool(tree, name):
    """The path of a program in the folder of the tools; None if it is missing."""
    return next((path for folder in ("usr/sbin", "usr/bin", "sbin") if (path := tree / folder / name).exists()), None)


def versions(tree):
    return json.loads((tree / "versions.json").read_text())


def fetched(suite, names_of, screen):
    """The folder with the unpacked packages of a suite. names_of(Apt) says which."""
    tree = PLACE / suite
    if (tree / "versions.json").exists():
        return tree
    screen.working(f"getting packages of {suite}")
    packages = Apt(suite)
    packages("update")
    fresh = PLACE / f"{suite}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    found = packages.unpack(names_of(packages), fresh)
    kernels.tidy(fresh)
    if (fresh / "lib" / "modules").exists():
        kernels.complete(fresh)
    (fresh / "versions.json").write_text(json.dumps(found, indent=1))
    shutil.rmtree(tree, ignore_errors=True)
    os.rename(fresh, tree)
    return tree


def kernel_packages(packages):
    """The image's package is empty in newer releases and depends on those with the contents."""
    image = re.search(r"Depends: (linux-image-\d\S+)", packages.cache("depends", "linux-image-amd64"))
    if not image:
        raise ToolError(f"{packages.suite} has no linux-image-amd64")
    parts = re.findall(r"Depends: (linux-(?:base|binary|modules)-\d\S+)", packages.cache("depends", image[1]))
    return [image[1], *parts]


def known_tools(packages):
    """Without those that the suite lacks: the candidates that need them are left out."""
    known = set(packages.cache("pkgnames").split())
    return [name for name in TOOLS if name in known]


class Apt:
    """apt for another suite of the machine's own mirror."""

    def __init__(self, suite):
        self.suite, self.place = suite, PLACE / f"{suite}.apt"
        self.configuration = apt.configure(self.place, call(["apt-config", "dump"]))
        source = ["Types: deb", f"URIs: {mirror()}", f"Suites: {suite}", "Components: main"]
        if KEYS.exists():
            source.append(f"Signed-By: {KEYS}")
        (self.place / "sources" / "peers.sources").write_text("\n".join(source) + "\n")
        (self.place / "debs").mkdir(exist_ok=True)

    def environment(self):
        return {**os.environ, "APT_CONFIG": str(self.configuration), "LC_ALL": "C.UTF-8"}

    def __call__(self, *words):
        return call(["apt-get", "-q", *words], self.environment(), self.place / "debs")

    def cache(self, *words):
        return call(["apt-cache", *words], self.environment())

    def unpack(self, names, tree):
        """{package: version} of all of `names`."""
        debs = self.place / "debs"
        for old in debs.glob("*.deb"):
            old.unlink()
        self("download", *names)
        found = {}
        for deb in sorted(debs.glob("*.deb")):
            name, version = call(["dpkg-deb", "-f", deb, "Package", "Version"]).strip().splitlines()
            found[name.removeprefix("Package: ")] = version.removeprefix("Version: ")
            call(["dpkg", "-x", deb, tree])
            deb.unlink()
        return found


def mirror():
    """Where the machine has Debian itself from, not its security updates."""
    shown = call(["apt-get", "indextargets", "--format", "$(CODENAME) $(REPO_URI)", "Created-By: Packages", "Origin: Debian"])
    lines = [line.split() for line in shown.splitlines()]
    found = [words[1] for words in lines if len(words) == 2 and "-" not in words[0]]
    if not found:
        raise ToolError("apt knows no mirror of Debian; run apt-get update")
    return found[0]


def call(words, environment=None, folder=None):
    done = subprocess.run([str(word) for word in words], env=environment, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        reasons = [line for line in done.stderr.splitlines() if line.startswith("E:")] or done.stderr.splitlines() or ["no reason given"]
        raise ToolError(f"{' '.join(map(str, words[:3]))}: {reasons[0]}")
    return done.stdout
