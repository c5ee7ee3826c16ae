"""A private MariaDB server: own data directory, a socket, no port of the host; never the system's instance."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from tooling.places import ToolError

START_SECONDS = 120
STOP_SECONDS = 120


class Server:
    """One server in one directory. Call stop() or kill() at the end; close() does what is left to do."""

    def __init__(self, directory, plugins, uri="", options=(), defaults=None, name="server", engine="",
                 network=None, port=0, user=None):
        """`plugins`: the directory with ha_rocksdb_fs.so. `uri`: where the engine keeps its files; "": on the host.
        `defaults`: a configuration file. `engine`: the plugin library; "": ours with a URI, else Debian's.
        `network`: a PrivateNetwork in which it listens on `port`; None: it listens on its socket only.
        `user`: the number of the user and group that it runs as; None: the caller's."""
        self.directory = pathlib.Path(directory)
        self.engine = engine or ("ha_rocksdb_fs.so" if uri else "ha_rocksdb.so")
        self.plugins, self.uri, self.options, self.defaults, self.name = plugins, uri, list(options), defaults, name
        self.data = self.directory / "data"
        self.socket = self.directory / "socket"
        self.log = self.directory / "error.log"
        self.enter = network.enter if network else []
        self.listen = [f"--port={port}", "--bind-address=127.0.0.1"] if network else ["--skip-networking"]
        self.identity = {"user": user, "group": user, "extra_groups": []} if user else {}
        self.process = None

    # --- life ---
    def install(self):
        """Makes the system tables. Without a password: only the owner of the directory reaches the socket."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.directory.chmod(0o700)
        if self.identity:
            os.chown(self.directory, self.identity["user"], self.identity["group"])
        if len(str(self.socket)) > 100:
            raise ToolError(f"{self.socket}: too long for a socket; name a shorter directory")
        log = self.directory / "install.log"
        with open(log, "wb") as sink:
            done = subprocess.run(["mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal",
                                   f"--datadir={self.data}", *self.as_user(), "--skip-test-db"],
                                  stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, check=False,
                                  **self.identity)
        if done.returncode != 0:
            raise ToolError(f"mariadb-install-db failed; see {log}")
        return self

    def as_user(self):
        """mariadbd refuses to run as root unless it is told to. In a private network every user is root."""
        return ["--user=root"] if (os.geteuid() == 0 and not self.identity) or self.enter else []

    def command(self, *more):
        first = f"--defaults-file={self.defaults}" if self.defaults else "--no-defaults"
        engine = [f"--plugin-load-add={self.engine}"]
        if self.uri:
            engine.append(f"--rocksdb-fs-uri={self.uri}")
        return [*self.enter, "/usr/sbin/mariadbd", first, *self.as_user(), f"--datadir={self.data}", f"--socket={self.socket}",
                *self.listen, f"--plugin-dir={self.plugins}", *engine, "--rocksdb-datadir=.rocksdb",
                f"--log-error={self.log}", f"--pid-file={self.directory / 'pid'}", *self.options, *more]

    def launch(self, *more):
        """Starts the process. It leads a process group of its own, which an interrupt from a terminal does not reach."""
        with open(self.directory / "output", "ab") as sink:
            self.process = subprocess.Popen(self.command(*more), stdin=subprocess.DEVNULL, stdout=sink,
                                            stderr=subprocess.STDOUT, process_group=0, **self.identity)

    def start(self, *more, engine=True):
        """Starts the server and waits until it answers. `engine`: whether it must have MyRocks, or must not."""
        self.launch(*more)
        self.wait_until_it_answers()
        found = self.query("SELECT support FROM information_schema.engines WHERE engine = 'ROCKSDB'")
        if (found in ("YES", "DEFAULT")) != engine:
            raise ToolError(f"{self.name}: the engine's state is {found or 'missing'!r}: {self.last_error()}")
        return self

    def wait_until_it_answers(self):
        end = time.monotonic() + START_SECONDS
        while self.run_client("SELECT 1").returncode != 0:
            if self.process.poll() is not None:
                raise ToolError(f"{self.name} ended with {self.process.returncode}: {self.last_error()}")
            if time.monotonic() > end:
                raise ToolError(f"{self.name} does not answer after {START_SECONDS} s: {self.last_error()}")
            time.sleep(0.05)

    def ends(self, seconds=START_SECONDS):
        """The exit status of a server that is expected to end by itself."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise ToolError(f"{self.name} has not ended after {seconds} s") from None
        self.process = None
        return status

    def stop(self):
        """A clean shutdown."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ToolError(f"{self.name} had not stopped after {STOP_SECONDS} s and was killed") from None
        self.process = None
        if status != 0:
            raise ToolError(f"{self.name} ended with {status}: {self.last_error()}")

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def close(self):
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    # --- talking to it ---
    def client(self, *flags):
        return ["mariadb", "--no-defaults", f"--socket={self.socket}", "--user=root", *flags]

    def run_client(self, text, names=False):
        flags = ["--batch"] if names else ["--batch", "--skip-column-names"]
        return subprocess.run([*self.client(*flags), "mysql"], input=text, text=True, capture_output=True, check=False)

    def query(self, text, names=False):
        """What the statements gave, tabs between columns; with `names` those of the columns first. Errors: ToolError with
        the server's message."""
        done = self.run_client(text, names)
        if done.returncode != 0:
            raise ToolError(f"{self.name}: {done.stderr.strip().splitlines()[-1]} in: {text[:200]}")
        return done.stdout.rstrip("\n")

    def fails(self, text):
        """The message of statements of which one must fail."""
        done = self.run_client(text)
        if done.returncode == 0:
            raise ToolError(f"{self.name}: this did not fail: {text[:200]}")
        return done.stderr.strip().splitlines()[-1]

    def status(self, pattern):
        """{name: text} of SHOW GLOBAL STATUS LIKE."""
        rows = self.query(f"SHOW GLOBAL STATUS LIKE '{pattern}'").splitlines()
        return dict(row.split("\t", 1) for row in rows)

    def cpu_seconds(self):
        """What the server has used of processors so far."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def log_lines(self, pattern):
        """The lines of the log that match, without their times."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return [re.sub(r"^\S+ +\S+ \d+ ", "", line) for line in text.splitlines() if re.search(pattern, line)]

    def last_error(self):
        return (self.log_lines(r"\[ERROR\]") or ["its log has no error"])[-1]
