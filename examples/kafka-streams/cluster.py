"""A broker of Kafka, and nodes that run the example with a device each: for `test` and `failover`."""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD_ROOT", ROOT / "build")).resolve()
ZENFS = BUILD / "release" / "zenfs"
BUILT = BUILD / "java" / "kafka-streams-example"
PATIENCE_S = 120
BROKER = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:{controller}
listeners=PLAINTEXT://localhost:{port},CONTROLLER://localhost:{controller}
advertised.listeners=PLAINTEXT://localhost:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={directory}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
group.initial.rebalance.delay.ms=0
"""


def build():
    """The command, the example by Maven, and the plugin for the RocksDB of Kafka Streams."""
    subprocess.run([ROOT / "scripts" / "build", "release", "zenfs_cli"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([ROOT / "scripts" / "java-project", "examples/kafka-streams"], check=True, stdout=subprocess.DEVNULL)


def zenfs(*words):
    return subprocess.run([ZENFS, *words], check=True, capture_output=True, text=True).stdout


def java(*words):
    return ["java", "-XX:+UseSerialGC", "-Xmx512m", "-cp", f"{BUILT}/classes:{BUILT}/lib/*", *words]


def free_port():
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        return taken.getsockname()[1]


class Broker:
    """A broker of one node, with its data in `folder`."""

    def __init__(self, folder):
        self.port = free_port()
        self.address = f"localhost:{self.port}"
        properties = folder / "broker.properties"
        properties.write_text(BROKER.format(port=self.port, controller=free_port(), directory=folder / "broker"))
        subprocess.run(java("kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", str(properties)),
                       check=True, capture_output=True)
        self.log = open(folder / "broker.log", "w", encoding="utf-8")
        self.process = subprocess.Popen(java("kafka.Kafka", str(properties)), stdout=self.log, stderr=self.log)
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            try:
                socket.create_connection(("localhost", self.port), timeout=1).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    raise
                time.sleep(0.1)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def run(self, verb, *words):
        subprocess.run(java("zenfs.example.Counts", verb, self.address, *map(str, words)), check=True, capture_output=True)


def default_device(image, state):
    return {"LD_LIBRARY_PATH": str(BUILT / "native"), "LD_PRELOAD": "libzenfs.so",
            "ZENFS_DEFAULT_URI": f"zenfs://emu:{image}", "ZENFS_DEFAULT_PREFIX": str(state)}


def make_device(image, zone_size="4M"):
    zenfs("emu", "create", image, "--force", "--zones=64", f"--zone-size={zone_size}")
    zenfs("mkfs", f"--emu={image}")


class Node:
    """A device, a directory for the state, and an instance of the example, with all that it printed."""

    def __init__(self, folder, name, zone_size="4M", on_device=True):
        self.image = folder / f"{name}.img"
        self.state = folder / name
        self.zone_size = zone_size
        self.on_device = on_device
        self.process = None
        self.replace_drive()

    def replace_drive(self):
        """What the node stored is gone: a new device, and empty directories."""
        self.drop_buffers()
        shutil.rmtree(self.state, ignore_errors=True)
        self.state.mkdir()
        if self.on_device:
            make_device(self.image, self.zone_size)

    def drop_buffers(self):
        """This mount takes up what a killed instance has left in shared memory."""
        if self.image.exists():
            zenfs("rmdir", "--force", f"--emu={self.image}", f"--path={self.state}")

    def start(self, broker, standbys):
        words = java("zenfs.example.Counts", "instance", broker.address, str(self.state), str(standbys))
        device = default_device(self.image, self.state) if self.on_device else {}
        self.lines = []  # (seconds, text)
        self.changed = threading.Condition()
        with open(f"{self.state}.errors", "a", encoding="utf-8") as errors:
            self.process = subprocess.Popen(words, env={**os.environ, **device}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=errors, text=True)
        self.reader = threading.Thread(target=self.read, args=(self.process.stdout, self.lines), daemon=True)
        self.reader.start()

    def read(self, output, lines):
        for line in output:
            with self.changed:
                lines.append((time.monotonic(), line.strip()))
                self.changed.notify_all()

    def wait_for(self, pattern, since=0):
        """The first line from number `since` on that matches: its time, and the match."""
        end = time.monotonic() + PATIENCE_S
        with self.changed:
            while True:
                for at, line in self.lines[since:]:
                    found = re.search(pattern, line)
                    if found:
                        return at, found
                if time.monotonic() > end or not self.reader.is_alive():
                    raise AssertionError(f"no line {pattern}: {self.lines[-50:]}")
                self.changed.wait(1)

    def matches(self, pattern, since=0):
        found = [(at, re.search(pattern, line)) for at, line in list(self.lines)[since:]]
        return [(at, match) for at, match in found if match]

    def look(self, which):
        """How many words have each count: `active`, in the tasks that count here; `held`, also in the standby tasks."""
        since = len(self.lines)
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.wait_for("^held ", since)
        return {int(count): int(words) for count, words in
                re.findall(r"(\d+)=(\d+)", self.wait_for(f"^{which} ", since)[1].string)}

    def wait_until(self, which, is_enough):
        """Until `is_enough` of what `look` sees. Gives the time."""
        end = time.monotonic() + PATIENCE_S
        while not is_enough(self.look(which)):
            if time.monotonic() > end:
                raise AssertionError(f"{which}: {self.look(which)}; {self.lines[-50:]}")
            time.sleep(0.05)
        return time.monotonic()

    def kill(self):
        """As a loss of the node. Gives the time."""
        self.process.kill()
        return self.end()

    def stop(self):
        """By the end of its input."""
        self.process.stdin.close()
        return self.end()

    def end(self):
        at = time.monotonic()
        self.process.wait(PATIENCE_S)
        self.reader.join()
        self.process.stdout.close()
        self.process.stdin.close()
        self.process = None
        return at

    def close(self):
        if self.process:
            self.kill()
            self.drop_buffers()
