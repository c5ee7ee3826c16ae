"""RocksDB's release library out of the jar of rocksdbjni, by Maven."""
import zipfile

from tooling.places import ToolError

from .run import run

COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
LIBRARY = "librocksdbjni-linux64.so"


def fetch_jar(release, work, to):
    """The jar into the new directory `to`; its path."""
    artifact = f"org.rocksdb:rocksdbjni:{release.version}:jar"
    if release.classifier:
        artifact += f":{release.classifier}"
    to.mkdir()
    run(["mvn", "-B", COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={to}"],
        f"rocksdbjni {release.version}", work / "maven.log", cwd=work)
    jars = list(to.glob("*.jar"))
    if len(jars) != 1:
        raise ToolError(f"can't get rocksdbjni {release.version}: maven left {len(jars)} jars in {to}")
    return jars[0]


def take_library(jar, to):
    """The library for this machine out of `jar`, into the new directory `to`."""
    to.mkdir()
    with zipfile.ZipFile(jar) as archive:
        if LIBRARY not in archive.namelist():
            raise ToolError(f"{jar} holds no {LIBRARY}")
        archive.extract(LIBRARY, to)
    (to / LIBRARY).chmod(0o755)
