"""A program that works in the background while something is done to its device."""
import pathlib
import shutil
import subprocess
import tempfile
import time

from guest.shell import without_progress


class Load:
    def __init__(self, words, environment):
        self.output = pathlib.Path(tempfile.mkstemp(prefix="load-")[1])
        self.process = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL,
                                        stdout=open(self.output, "wb"), stderr=subprocess.STDOUT)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.kill()  # a process that waits in the kernel stays; we do not

    def wait_until_written(self, device, mebibytes, seconds=60):
        """Until the device has taken so much since the guest booted."""
        deadline = time.monotonic() + seconds
        while written(device) < mebibytes << 20:
            assert self.process.poll() is None, f"the load ended before it had written {mebibytes} MiB: {self.text()[-300:]}"
            assert time.monotonic() < deadline, f"the load wrote only {written(device)} bytes in {seconds} s"
            time.sleep(0.02)

    def wait_until(self, happened, what, seconds=60):
        """Until happened() is true."""
        deadline = time.monotonic() + seconds
        while not happened():
            assert self.process.poll() is None, f"the load ended before {what}: {self.text()[-300:]}"
            assert time.monotonic() < deadline, f"{seconds} s later: not {what}"
            time.sleep(0.2)

    def kill(self):
        self.process.kill()
        self.process.wait(60)

    def end(self, seconds):
        """Its exit status once it has ended by itself. A signal or a hang fails the case, but for RocksDB's own hang."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            print(without_progress(self.text())[-4000:])
            threads = stacks(self.process.pid)
            print(threads, flush=True)
            if not is_rocksdbs_own_hang(threads):
                raise AssertionError(f"the load hangs: it has not ended {seconds} s later") from None
            print("RocksDB waits for a recovery that has ended (its issue 11440), and all calls of ZenFS have returned")
            self.process.kill()
            return 1
        print(without_progress(self.text())[-4000:], f"exit status {status}", flush=True)
        assert status >= 0, f"the load was ended by signal {-status}"
        return status

    def text(self):
        return self.output.read_text(errors="replace")


def stacks(pid):
    """Where each thread of a process that hangs is: in the kernel, and where there is a gdb, in the program."""
    lines = []
    for task in sorted(pathlib.Path("/proc", str(pid), "task").iterdir()):
        state = next(line for line in (task / "status").read_text().splitlines() if line.startswith("State:"))
        lines.append(f"thread {task.name} ({(task / 'comm').read_text().strip()}), {state}")
        lines += [f"  {line}" for line in (task / "stack").read_text().splitlines()]
    if shutil.which("gdb"):
        gdb = subprocess.run(["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all backtrace"], timeout=60,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        lines.append(gdb.stdout.decode(errors="replace"))
    return "\n".join(lines)


def is_rocksdbs_own_hang(stacks):
    """Before 8.8 DB::Close waits for ever when a recovery from an error ended just then: its thread leaves, and nobody takes
    back that it is under way. Ours then are only the threads that a mount has, each waiting for work."""
    threads = [part for part in stacks.split("\nThread ") if "\n#0 " in part]
    closing = [part for part in threads if "rocksdb::DBImpl::CloseHelper()" in part]
    in_zenfs = [part for part in threads if "zenfs::" in part]
    idle = [part for part in in_zenfs if '"zenfs-' in part.partition("\n")[0] and "zenfs::CondVar::Wait" in part]
    return bool(closing) and not any("zenfs::" in part for part in closing) and len(idle) == len(in_zenfs)


def written(device):
    """Bytes written since the device came up; /sys/block/DEVICE/stat counts in sectors."""
    return int(pathlib.Path("/sys/block", device, "stat").read_text().split()[6]) * 512
