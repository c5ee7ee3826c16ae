"""MariaDB's own tests of its storage engine (package mariadb-test), run on ZenFS."""
import os
import re
import shutil
import subprocess

from rocksdb_sdk import debian
from tooling.places import BUILD_ROOT, ROOT, ToolError

PACKAGES = ("mariadb-client", "mariadb-client-core", "mariadb-server", "mariadb-server-core", "mariadb-plugin-rocksdb",
            "mariadb-test", "mariadb-test-data")
SUITE = "usr/share/mysql/mysql-test/plugin/rocksdb/rocksdb"
RESULT = re.compile(r"^rocksdb\.(\S+) .*\[ (pass|fail|skipped|disabled) +\](.*)$", re.M)
LISTS = ROOT / "myrocks" / "mtr"


def make_tree(plugins):
    """What the packages hold, in one directory; nothing is installed. Made once for each version of MariaDB."""
    version = debian.version_of_mariadb()
    if not version:
        raise ToolError("mariadb-server-core is not installed; scripts/setup installs it")
    root = BUILD_ROOT / "mariadb-test" / version.replace(":", "_")
    if not root.exists():
        partial = root.with_name(root.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        work = partial / "work"
        work.mkdir(parents=True)
        debian.fetch_packages([f"{name}={version}" for name in PACKAGES], work, partial)
        shutil.rmtree(work)
        server = partial / "usr/sbin/mariadbd"
        server.rename(server.with_name("mariadbd.real"))
        (partial / "usr/bin/sst_dump").symlink_to("/usr/bin/sst_dump")  # of the package rocksdb-tools
        (partial / SUITE / "suite.opt").write_text("--plugin-load=ha_rocksdb_fs.so --default-storage-engine=rocksdb\n")
        partial.rename(root)
    shutil.copy(LISTS / "mariadbd.in", root / "usr/sbin/mariadbd")
    (root / "usr/sbin/mariadbd").chmod(0o755)
    shutil.copy(plugins / "ha_rocksdb_fs.so", root / "usr/lib/mysql/plugin")
    return root


def read_list(name):
    """{test: text after it} of a file in myrocks/mtr."""
    lines = (LISTS / name).read_text(encoding="utf-8").splitlines()
    return dict((line.split(None, 1) + [""])[:2] for line in lines if line.strip() and not line.startswith("#"))


def run(programs, directory, tests):
    """{test: "pass", "fail", "skipped" or "disabled"}; all that was printed is in directory/mtr.log."""
    root = make_tree(programs.plugins)
    log = directory / "mtr.log"
    # Else a test with an option that begins with --user does not get this one from mysql-test-run.
    as_user = ["--mysqld=--user=root"] if os.geteuid() == 0 else []
    with open(log, "wb") as sink:
        subprocess.run(["perl", "mysql-test-run.pl", f"--vardir={directory}/var", "--suite=rocksdb", "--force",
                        "--retry=0", "--max-test-fail=0", "--testcase-timeout=4", "--suite-timeout=60",
                        "--mysqld=--skip-networking", *as_user, *(f"rocksdb.{test},write_committed" for test in tests)],
                       cwd=root / "usr/share/mysql/mysql-test", stdin=subprocess.DEVNULL, stdout=sink,
                       stderr=subprocess.STDOUT, env={**os.environ, "ZENFS": str(programs.zenfs)}, check=False)
    text = log.read_text(errors="replace")
    found = {name: result for name, result, _ in RESULT.findall(text)}
    if not found:
        lines = [line for line in text.splitlines() if "ERROR" in line] or text.splitlines()[-1:] or ["it printed nothing"]
        raise ToolError(f"mysql-test-run ran no test: {lines[0][:300]}")
    return found
