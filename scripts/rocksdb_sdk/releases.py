"""Which releases of RocksDB can be had, and from where."""
import dataclasses

MAVEN, DEBIAN, MARIADB = "Maven", "librocksdb-dev", "MariaDB"


@dataclasses.dataclass(frozen=True)
class Release:
    """A RocksDB; `name` is its version unless there are two of that version.

    `crate`: the version of librocksdb-sys that carries this tree; without one the headers come from Debian.
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


def describe(release):
    if release.crate:
        headers = f"librocksdb-sys {release.crate}+{release.version}"
    else:
        headers = DEBIAN if release.library == DEBIAN else "MariaDB's source package"
    library = {MAVEN: f"rocksdbjni {release.version}", DEBIAN: DEBIAN, MARIADB: "mariadb-plugin-rocksdb"}
    return f"headers of {headers}, library of {library[release.library]}"
