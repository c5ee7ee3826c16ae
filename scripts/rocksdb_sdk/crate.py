"""RocksDB's source tree out of the crate librocksdb-sys, by cargo.

The crate is for Rust programs; only the tree in its folder rocksdb/ is wanted. What it depends on is replaced by empty
packages: nothing of it is needed, and newer ones can't be read by the cargo of Debian 12.
"""
import os
import re
import shutil
import subprocess

from tooling.places import ToolError

from .releases import ANY_CRATE
from .run import run

# Name, version, features that some release of librocksdb-sys asks for.
EMPTY_PACKAGES = (
    ("bindgen", "0.69.999", ("runtime", "static")),
    ("bindgen", "0.72.999", ("runtime", "static")),
    ("cc", "1.999.0", ("parallel",)),
    ("glob", "0.3.999", ()),
    ("libc", "0.2.999", ()),
    ("rustflags", "0.1.999", ()),
)

MANIFEST = """[package]
name = "{name}"
version = "{version}"
edition = "2018"
publish = false
"""


def write_package(directory, name, version, rest):
    (directory / "src").mkdir(parents=True, exist_ok=True)
    (directory / "src" / "lib.rs").write_text("")
    (directory / "Cargo.toml").write_text(MANIFEST.format(name=name, version=version) + rest)


def write_scratch_package(directory, crate):
    """A package that depends on that librocksdb-sys and, through it, on nothing else."""
    patches = ""
    for name, version, features in EMPTY_PACKAGES:
        place = f"{name}-{version}"
        write_package(directory / place, name, version,
                      "[features]\n" + "".join(f"{feature} = []\n" for feature in features))
        patches += f'{place.replace(".", "-")} = {{ package = "{name}", path = "{place}" }}\n'
    write_package(directory, "headers-of-rocksdb", "0.0.0",
                  f'[dependencies]\nlibrocksdb-sys = {{ version = "{crate}", default-features = false }}\n'
                  f"[patch.crates-io]\n{patches}")


def cargo_command(verb):
    """Before 1.68 cargo knows the registry's index only as a git repository, unless it is asked otherwise."""
    environment = {}
    command = ["cargo", verb]
    told = subprocess.run(["cargo", "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"(\d+)\.(\d+)", told)
    if version and (int(version[1]), int(version[2])) < (1, 68):
        environment = {"RUSTC_BOOTSTRAP": "1", "CARGO_REGISTRIES_CRATES_IO_PROTOCOL": "sparse"}
        command = ["cargo", "-Z", "sparse-registry", verb]
    return command, environment


def run_cargo(verb, crate, what, work):
    """In a scratch package that depends on `crate`. Returns cargo's home."""
    if shutil.which("cargo") is None:
        raise ToolError(f"can't get {what}: there is no cargo (scripts/setup installs it)")
    home, scratch = work / "cargo", work / "scratch"
    write_scratch_package(scratch, crate)
    command, environment = cargo_command(verb)
    run(command, what, work / "cargo.log", cwd=scratch, env={**os.environ, **environment, "CARGO_HOME": str(home)})
    return home


def crate_of(release, work):
    """The version of librocksdb-sys that carries `release`, from the registry's index."""
    if release.crate != ANY_CRATE:
        return release.crate
    home = run_cargo("generate-lockfile", ANY_CRATE, "the list of librocksdb-sys", work)
    carried = {}
    for index in home.glob("registry/index/*/.cache/li/br/librocksdb-sys"):
        for crate, rocksdb in re.findall(rb"(\d+\.\d+\.\d+)\+(\d+\.\d+\.\d+)", index.read_bytes()):
            carried[rocksdb.decode()] = crate.decode()  # the newest of a RocksDB is the last
    if release.version not in carried:
        known = ", ".join(sorted(carried, key=lambda version: [int(part) for part in version.split(".")]))
        raise ToolError(f"the registries have the source of RocksDB {known}, but not of {release.version}: get a checkout of "
                        f"v{release.version} and name it by --source=DIRECTORY")
    return carried[release.version]


def fetch_source(release, work, to):
    """The tree of `release` into the new directory `to`, with `work` for what cargo needs."""
    crate = crate_of(release, work)
    home = run_cargo("fetch", f"={crate}", f"the source of RocksDB {release.version}", work)
    found = list(home.glob(f"registry/src/*/librocksdb-sys-{crate}+{release.version}/rocksdb"))
    if len(found) != 1:
        raise ToolError(f"can't get the source of RocksDB {release.version}: librocksdb-sys {crate} does not carry it")
    shutil.move(found[0], to)
