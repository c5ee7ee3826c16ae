"""Which releases of RocksDB can be had, and from where."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Release:
    """`crate`: the version of librocksdb-sys that carries this tree; `classifier`: of the jar in Maven.

    Without a crate the headers come from Debian; without a jar the library does too.
    """
    version: str
    crate: str = ""
    jar: bool = True
    classifier: str = "linux64"  # a jar with one library; the jar without a classifier has those of all platforms


# 11.8.1 without a classifier: what Java programs depend on, so that it is downloaded once.
RELEASES = {release.version: release for release in (
    Release("6.29.5"),
    Release("7.8.3", jar=False),
    Release("8.10.0", crate="0.16.0"),
    Release("9.9.3", crate="0.17.1"),
    Release("10.4.2", crate="0.17.3"),
    Release("11.8.1", crate="0.19.0", classifier=""),
)}


def describe(release):
    headers = f"librocksdb-sys {release.crate}+{release.version}" if release.crate else (
        "MariaDB's source package" if release.jar else "librocksdb-dev")
    library = f"rocksdbjni {release.version}" if release.jar else "librocksdb-dev"
    return f"headers of {headers}, library of {library}"
