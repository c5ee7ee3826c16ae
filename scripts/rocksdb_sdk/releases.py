"""Which releases of RocksDB can be had, and from where."""
import dataclasses
import re

from tooling.places import ToolError

FIRST_SUPPORTED = (6, 29)
MAVEN, DEBIAN, MARIADB = "Maven", "librocksdb-dev", "MariaDB"


ANY_CRATE = "*"


@dataclasses.dataclass(frozen=True)
class Release:
    """A RocksDB; `name` is its version unless there are two of that version.

    `crate`: the version of librocksdb-sys that carries this tree; ANY_CRATE: the registry is asked; without one the headers come from
    Debian.
    `library`: where that comes from. `classifier`: of the jar in Maven.
    """
    name: str
    crate: str = ""
    library: str = MAVEN
    classifier: str = "linux64"  # a jar with one library; the jar without a classifier has those of all platforms

    @property
    def version(self):
        return self.name.partition("-")[0]


# 11.8.1 without a classifier: what Java programs depend on, so that it is downloaded once.
RELEASES = {release.name: release for release in (
    Release("6.29.5"),
    Release("6.29.5-mariadb", library=MARIADB),
    Release("7.8.3", library=DEBIAN),
    Release("8.10.0", crate="0.16.0"),
    Release("9.9.3", crate="0.17.1"),
    Release("10.4.2", crate="0.17.3"),
    Release("11.8.1", crate="0.19.0", classifier=""),
)}


def release_of(name):
    """One of RELEASES, or any other version that the registries may have."""
    if name in RELEASES:
        return RELEASES[name]
    numbers = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", name)
    if not numbers:
        raise ToolError(f"{name} is not a version of RocksDB such as 7.9.2")
    if (int(numbers[1]), int(numbers[2])) < FIRST_SUPPORTED:
        raise ToolError(f"RocksDB {name} is older than {FIRST_SUPPORTED[0]}.{FIRST_SUPPORTED[1]}, the first that ZenFS works with")
    return Release(name, crate=ANY_CRATE)


def describe(release, source=None):
    if source:
        headers = str(source)
    elif release.crate == ANY_CRATE:
        headers = f"the librocksdb-sys with RocksDB {release.version}"
    elif release.crate:
        headers = f"librocksdb-sys {release.crate}+{release.version}"
    else:
        headers = DEBIAN if release.library == DEBIAN else "MariaDB's source package"
    library = {MAVEN: f"rocksdbjni {release.version}", DEBIAN: DEBIAN, MARIADB: "mariadb-plugin-rocksdb"}
    return f"headers of {headers}, library of {library[release.library]}"
