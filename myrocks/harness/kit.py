"""What a demo or a case works with: a directory, servers and devices, and the certainty that nothing is left of them."""
import pathlib
import shutil
import signal
import subprocess
import tempfile

from tooling.places import ROOT, ToolError, build

from .device import SHAPE, Device
from .server import Server

SMALL = ["--innodb-log-file-size=8M", "--innodb-buffer-pool-size=16M", "--innodb-data-file-path=ibdata1:8M:autoextend"]
PACKAGES = {"mariadbd": "mariadb-server-core", "mariadb": "mariadb-client-core", "sysbench": "sysbench"}


def require_programs():
    """Errors: ToolError, which names the package of a missing program."""
    for program, package in PACKAGES.items():
        if not shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin"):
            raise ToolError(f"there is no {program}; install the package {package} (scripts/setup does)")


class Programs:
    """The command zenfs, and the directory with the engine and ours."""

    def __init__(self):
        self.zenfs = build("release", "zenfs_cli") / "zenfs"
        done = subprocess.run([ROOT / "scripts" / "myrocks-build"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)
        if done.returncode != 0:
            raise ToolError(f"scripts/myrocks-build fails: {done.stderr.strip()[-2000:]}")
        self.plugins = pathlib.Path(done.stdout.strip())


class Kit:
    """Servers and devices in one new directory. A context manager: at its end all are gone, whatever happened.

    `keep` leaves the directory. Not for several threads.
    """

    def __init__(self, programs, parent=None, keep=False):
        self.programs, self.parent, self.keep = programs, parent, keep
        self.directory = None
        self.servers, self.devices = [], []

    def __enter__(self):
        signal.signal(signal.SIGHUP, signal.default_int_handler)
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="zenfs-myrocks-", dir=self.parent))
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.kill()
        for device in self.devices:
            device.remove_shared_memory()
        if not self.keep:
            shutil.rmtree(self.directory, ignore_errors=True)

    def device(self, name="device.img", options="", shape=SHAPE, flags=()):
        """A new device with a file system."""
        return self.unformatted_device(name, options, shape, flags).format()

    def unformatted_device(self, name="device.img", options="", shape=SHAPE, flags=()):
        device = Device(self.programs.zenfs, self.directory / name, options)
        self.devices.append(device)
        return device.create(*flags, shape=shape)

    def server(self, uri="", options=(), name="server", **keywords):
        """A server that is installed but not started."""
        server = Server(self.directory / name, self.programs.plugins, uri, [*SMALL, *options], name=name, **keywords)
        self.servers.append(server)
        return server.install()
