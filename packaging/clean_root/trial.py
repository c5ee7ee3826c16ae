"""Packages installed, used, upgraded, removed and purged in a clean root that has nothing else of ZenFS."""
import pathlib
import re
import subprocess
import tempfile

from clean_root.root import Root
from tooling.places import ROOT, ToolError

OLDER = "2.99"

SCRIPT = """
export DEBIAN_FRONTEND=noninteractive
step() { echo "=== $1"; }
fail() { echo "$1"; exit 1; }
cd /trial

step 'install an older version'
apt-get -q -y install --install-recommends ./older/*.deb  # as every Debian does, but not mmdebstrap's
[ "$(dpkg-query -W -f='${Version}' zenfs)" = OLDER ] || fail 'the older version is not installed'

step 'the commands of README'
README_COMMANDS
zenfs check --emu=device.img

step 'programs find the library'
apt-get -q -y install --no-install-recommends g++ pkgconf cmake make
g++ -std=c++20 hello.cc -o hello $(pkg-config --cflags --libs zenfs rocksdb)
zenfs emu create hello.img
zenfs mkfs --emu=hello.img
./hello zenfs://emu:hello.img | grep -qx 'hello from a zone' || fail 'a program that is linked with the library says something else'
cmake -S consumer -B consumer/build && cmake --build consumer/build

step 'upgrade'
apt-get -q -y install ./newer/*.deb
[ "$(dpkg-query -W -f='${Version}' zenfs)" = NEWER ] || fail 'the newer version is not installed'
zenfs check --emu=device.img
./hello zenfs://emu:hello.img

if [ -d myrocks ]; then
step 'MyRocks, as its page configures it on an emulated device'
apt-get -q -y install ./myrocks/*.deb
zenfs emu create /var/lib/zenfs-trial.img --zones=64 --zone-size=16M
zenfs mkfs --emu=/var/lib/zenfs-trial.img
chown mysql: /var/lib/zenfs-trial.img
sed -i 's/^plugin-load-add=ha_rocksdb.so/#&/' /etc/mysql/mariadb.conf.d/rocksdb.cnf
cat >/etc/mysql/mariadb.conf.d/zenfs.cnf <<'END'
[mariadb]
plugin-load-add = ha_rocksdb_fs.so
rocksdb = FORCE
rocksdb_fs_uri = zenfs://emu:/var/lib/zenfs-trial.img
rocksdb_datadir = .rocksdb
END
install -d -o mysql /run/mysqld
mariadbd --user=mysql &
mariadb-admin --wait=60 --connect-timeout=1 ping
mariadb -e "CREATE DATABASE trial; CREATE TABLE trial.t (k INT PRIMARY KEY) ENGINE=ROCKSDB; INSERT INTO trial.t VALUES (42)"
mariadb -N -e "SELECT k FROM trial.t" | grep -qx 42 || fail 'the row is not there'
mariadb-admin shutdown
wait
zenfs list --emu=/var/lib/zenfs-trial.img --path=.rocksdb | grep -q log || fail 'the volume has no log of the engine'
rm /var/lib/zenfs-trial.img /etc/mysql/mariadb.conf.d/zenfs.cnf
apt-get -q -y purge zenfs-mariadb-plugin-rocksdb
fi

step 'remove'
apt-get -q -y remove zenfs libzenfs3
[ ! -e /usr/bin/zenfs ] || fail 'the command is still there'

step 'purge'
mkdir -p /var/lib/private/zenfs
touch /var/lib/private/zenfs/01234567-89ab-4cde-8f01-23456789abcd.json
ln -s private/zenfs /var/lib/zenfs
mkdir -p /etc/systemd/system/timers.target.wants
ln -s /usr/lib/systemd/system/zenfs-scrub@.timer /etc/systemd/system/timers.target.wants/zenfs-scrub@nvme0n1.timer
dpkg --purge zenfs libzenfs3 libzenfs-dev  # apt refuses a package without remains
left=$(find / -xdev -name '*zenfs*' -not -path '/trial/*' -not -path '/proc/*' -not -path '/sys/*' -not -path '/var/log/*' -not -path '/var/lib/dpkg/*')
[ -z "$left" ] || fail "left behind: $left"
if dpkg-query -W 'zenfs*' 'libzenfs*' 2>/dev/null | grep -q .; then fail 'dpkg still knows packages'; fi
"""

# As the page's examples run it, with a volume for files in /data.
IMAGE_SCRIPT = """
mkdir /data
cd /data
[ ! -e /packages ]
zenfs help >/dev/null
zenfs emu create device.img
zenfs mkfs --emu=device.img
LD_PRELOAD=libzenfs.so db_bench --fs_uri=zenfs://emu:device.img --benchmarks=fillseq --num=1000
zenfs check --emu=device.img
"""


def readme_commands():
    """The block that people type, without the line that makes a build folder's programs known."""
    block = re.search(r"```sh\n(export PATH=.*?)```", (ROOT / "README.md").read_text(), re.S)
    if not block:
        raise ToolError("README.md has no block of commands")
    return "\n".join(line for line in block[1].splitlines() if not line.startswith("export "))


def container_commands():
    """The lines RUN of the file that container engines build an image from."""
    return [line.removeprefix("RUN ") for line in (ROOT / "packaging" / "container" / "Containerfile").read_text().splitlines()
            if line.startswith("RUN ")]


def older(deb, folder):
    """The same package as one of an older version."""
    with tempfile.TemporaryDirectory(prefix="zenfs-older-") as work:
        tree = pathlib.Path(work) / "tree"
        subprocess.run(["dpkg-deb", "-R", deb, tree], check=True)
        control = tree / "DEBIAN" / "control"
        text = control.read_text()
        found = re.search(r"^Version: (\S+)$", text, re.M)[1]
        control.write_text(text.replace(found, OLDER))
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", tree, folder / deb.name.replace(found, OLDER)], check=True, stdout=subprocess.DEVNULL)
    return found


def is_myrocks(deb):
    return deb.name.startswith("zenfs-mariadb-plugin-rocksdb_")


def try_image(suite, debs, log, screen):
    """What an engine would do, in a root of its own: the image has nothing but what its lines install."""
    screen.working(f"trying the image for containers in a clean root of {suite}")
    root = Root(suite)
    for deb in debs:
        root.copy_in(deb, "/packages")
    root.run("\n".join(["export DEBIAN_FRONTEND=noninteractive", *container_commands(), IMAGE_SCRIPT]), log)


def run(suite, debs, log, screen):
    debs = [deb for deb in debs if "-dbgsym" not in deb.name]
    try_image(suite, [deb for deb in debs if "-dev" not in deb.name and not is_myrocks(deb)], log.with_name("image.log"), screen)
    screen.working(f"trying the packages in a clean root of {suite}")
    root = Root(suite)
    with tempfile.TemporaryDirectory(prefix="zenfs-trial-") as work:
        newer = {older(deb, pathlib.Path(work)) for deb in debs if not is_myrocks(deb)}
        if len(newer) != 1:
            raise ToolError(f"packages of several versions: {', '.join(sorted(newer))}")
        for deb in debs:
            root.copy_in(deb, "/trial/myrocks" if is_myrocks(deb) else "/trial/newer")
        for deb in sorted(pathlib.Path(work).glob("*.deb")):
            root.copy_in(deb, "/trial/older")
        root.copy_in(ROOT / "examples" / "cpp" / "hello.cc", "/trial")
        root.copy_in(ROOT / "tests" / "packaging" / "consumer", "/trial")
        script = SCRIPT.replace("README_COMMANDS", readme_commands()).replace("OLDER", OLDER).replace("NEWER", newer.pop())
        root.run(script, log)
    screen.line(f"{suite}: installed, used, upgraded, removed and purged; the commands of the image for containers run")
