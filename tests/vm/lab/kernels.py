"""Debian's kernels: found by package name, downloaded and unpacked into the cache, never installed.

A Kernel is what a guest boots: an image and a tree of modules. Nothing here needs root. A kernel that was unpacked
once is used again as long as apt names the same package, and without apt if there is no network.
"""
import dataclasses
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from tooling.places import ToolError

from lab.places import CACHE

LINES = ("6.1", "6.12")
XZ_MAGIC = bytes.fromhex("fd377a585a00")


class NoSuchLine(ToolError):
    """This release of Debian has no kernel of that line; nothing that a user could do about it."""


@dataclasses.dataclass(frozen=True)
class Kernel:
    line: str            # "6.1"
    version: str         # "6.1.0-56-amd64", the name of its folder in lib/modules
    image: pathlib.Path  # for qemu's -kernel
    tree: pathlib.Path   # what modprobe -d takes: contains lib/modules/VERSION
    modules: tuple = ()  # what its guests need beside the modules of the lab


def get(line):
    """The newest kernel of a line, e.g. "6.12", downloaded if need be."""
    package = package_of(line)
    if package is None:
        cached = sorted(CACHE.glob(f"linux-image-{line}.*"))
        if not cached:
            raise absent(line)
        return opened(line, cached[-1])
    if not (CACHE / package).exists():
        download(package)
    return opened(line, CACHE / package)


def package_of(line):
    """linux-image-amd64 -> linux-image-6.1.0-56-amd64, if that is of this line; None if apt knows no such package."""
    for name in ("linux-image-amd64", f"linux-image-{line}-amd64"):
        found = subprocess.run(["apt-cache", "depends", name], capture_output=True, text=True)
        match = re.search(rf"Depends: (linux-image-{re.escape(line)}\.\S+)", found.stdout)
        if match:
            return match.group(1)
    return None


def absent(line):
    """Says whether it is the release that has no such kernel, or apt that has no lists."""
    known = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True, text=True)
    if "Depends:" not in known.stdout:
        return ToolError(f"apt knows no kernel package at all, so none of the {line} line; run apt-get update")
    release = os_release()
    if line == "6.1" and release != "12":
        return NoSuchLine(f"Debian {release} has no kernel of the {line} line; those cases can run on Debian 12 only")
    return ToolError(f"apt knows no kernel package of the {line} line; run apt-get update, with the security suite in "
                    "the list of sources")


def os_release():
    text = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
    found = re.search(r'^VERSION_ID="?([^"\n]*)', text, re.M)
    return found.group(1) if found else "(unknown release)"


def download(package):
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as work:
        done = subprocess.run(["apt-get", "-q", "download", package], cwd=work, capture_output=True, text=True)
        packages = list(pathlib.Path(work).glob("*.deb"))
        if done.returncode != 0 or not packages:
            lines = [line for line in done.stderr.splitlines() if line.startswith("E:")] or ["no file came"]
            raise ToolError(f"apt-get download {package}: {lines[0]}; if its lists are old, run apt-get update")
        tree = pathlib.Path(work) / "tree"
        subprocess.run(["dpkg", "-x", packages[0], tree], check=True)
        tidy(tree)
        complete(tree)
        os.rename(tree, CACHE / package)


def tidy(tree):
    """Makes lib of an unpacked package be where it is on an installed system, and drops what no guest reads."""
    if not (tree / "lib").exists():  # a merged /usr
        (tree / "lib").symlink_to("usr/lib")
    shutil.rmtree(tree / "usr" / "share", ignore_errors=True)


def complete(tree):
    """Makes an unpacked package of a kernel what a guest boots from."""
    version = module_version(tree)
    subprocess.run(["depmod", "-b", tree, version], check=True, env=with_sbin())
    unpack_image(packed_image(tree), tree / "boot" / "vmlinux")


def packed_image(tree):
    """In newer releases of Debian it lies beside the modules."""
    version = module_version(tree)
    beside_modules = tree / "lib" / "modules" / version / "vmlinuz"
    return beside_modules if beside_modules.exists() else tree / "boot" / f"vmlinuz-{version}"


def unpack_image(compressed, image):
    """An xz-packed kernel costs two seconds of each boot in software emulation; others are left as they are."""
    data = compressed.read_bytes()
    start = data.find(XZ_MAGIC)
    if start < 0:
        return
    try:
        unpacked = lzma.LZMADecompressor().decompress(data[start:])
    except lzma.LZMAError:
        return
    if unpacked.startswith(b"\x7fELF"):
        image.parent.mkdir(exist_ok=True)
        image.write_bytes(unpacked)


def opened(line, tree, modules=()):
    unpacked = tree / "boot" / "vmlinux"
    return Kernel(line, module_version(tree), unpacked if unpacked.exists() else packed_image(tree), tree, modules)


def module_version(tree):
    versions = [path.name for path in (tree / "lib" / "modules").iterdir()]
    if len(versions) != 1:
        raise ToolError(f"{tree}: {len(versions)} kernel versions in lib/modules, expected one; delete that folder")
    return versions[0]


def with_sbin():
    """An environment in which depmod and modprobe are found, which a user's PATH often lacks."""
    return os.environ | {"PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"}
