"""One QEMU run: a kernel, drives, a job, and how it ended.

    guest = Guest(kernel, directory, drives=[MAIN])
    ending = guest.run("#!/bin/bash\nblkzone report /dev/nvme0n1\n", seconds=60)

A job is a script (with its #! line) that runs as root in a chroot to the host's root, mounted read-only: the paths of
the host are its paths. Writable are /run/share, which is `guest.share` here, and /run/tmp ($TMPDIR), in memory. What it
prints goes to `guest.share / "output"`, the kernel's messages to `guest.console`. Its environment has LAB_BINARIES (the
release build), LAB_VM (tests/vm), LAB_SHARE, for each NVMe drive its device (LAB_MAIN=nvme0n1 for the serial number main),
and LAB_BOOTS, how often the guest came up: 2 after a reset, when the same job runs again.

A job ends done only if its exit status stands in the share, whatever QEMU's own status is.

Threads: one at a time, but for kill_all. Every guest that was started must be waited for or killed;
`with Guest(...) as guest` does.
"""
import dataclasses
import os
import pathlib
import shutil
import socket
import subprocess
import time

from tooling.places import ToolError

from lab import initramfs
from lab.monitor import Monitor
from lab.places import BINARIES, VM

QEMU = "qemu-system-x86_64"
SUCCESS_BASE = 16  # as in guest/init
PANIC_STATUS = 1   # -action panic=exit-failure

# QEMU 7.2 loses an NVMe command now and then. The kernel notices after io_timeout, tries in vain to abort it, and after
# as much again resets the controller and repeats the command: a minute with the kernel's own 30 s.
# no_timer_check: where QEMU gets little time, a kernel would find no timer that ticks, and panic.
KERNEL_ARGUMENTS = "console=ttyS0 quiet panic=-1 oops=panic no_timer_check nvme_core.io_timeout=5"


@dataclasses.dataclass(frozen=True)
class Ending:
    kind: str  # "done", "panic", "hang" (killed at the time limit), "died" (QEMU or the guest went without a word)
    status: int | None = None  # the job's exit status if kind is "done"

    @property
    def ok(self):
        return self.kind == "done" and self.status == 0

    def __str__(self):
        return {"done": f"the job ended with {self.status}", "panic": "the guest's kernel panicked",
                "hang": "the guest hung and was killed", "died": "the guest ended without a result"}[self.kind]


class Guest:
    alive = set()        # those of this process that were started and have not ended
    interrupted = False  # kill_all was called

    def __init__(self, kernel, directory, *, drives=(), arguments=(), memory="1G", processors=1, accelerator="tcg",
                 reset_ends=True):
        """`directory` keeps images, console and share, and may be used by one guest after another. `arguments` are
        further ones for QEMU. With reset_ends=False the guest comes up again after a reset or a reboot. One processor is
        the fastest where the host is loaded: two have to wait for one another."""
        self.kernel = kernel
        self.directory = pathlib.Path(directory)
        self.drives = tuple(drives)
        self.arguments = list(arguments)
        self.memory, self.processors, self.accelerator = memory, processors, accelerator
        self.reset_ends = reset_ends
        self.share = self.directory / "share"
        self.console = self.directory / "console"
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.kill()

    def image(self, drive):
        return self.directory / f"{drive.serial}.img"

    def start(self, job):
        """Boots. `job` is the text of a script, or the path of one."""
        assert self.process is None, "this guest runs already"
        if not shutil.which(QEMU):
            raise ToolError(f"{QEMU} is missing: install qemu-system-x86 (scripts/setup does)")
        self.share.mkdir(parents=True, exist_ok=True)
        for name in ("rc", "boots", "output", "dmesg"):
            (self.share / name).unlink(missing_ok=True)
        self.console.write_bytes(b"")
        self.write_job(job.read_text(encoding="utf-8") if isinstance(job, pathlib.Path) else job)
        for drive in self.drives:
            if not self.image(drive).exists():
                drive.create(self.image(drive))
        # A socket's path must be short, so QEMU is given the directory as its own and takes a relative one.
        (self.directory / "monitor").unlink(missing_ok=True)
        self.process = subprocess.Popen(self.command(), cwd=self.directory, stdin=subprocess.DEVNULL,
                                        stdout=open(self.directory / "qemu.log", "wb"), stderr=subprocess.STDOUT)
        Guest.alive.add(self)

    def write_job(self, text):
        serials = " ".join(drive.serial for drive in self.drives)
        environment = f"export LAB_BINARIES='{BINARIES}' LAB_VM='{VM}'\n. '{VM}/guest/drives.sh' {serials}\n"
        for name, content in (("script", text), ("job", f"#!/bin/bash\n{environment}exec /run/share/script\n")):
            (self.share / name).write_text(content, encoding="utf-8")
            (self.share / name).chmod(0o755)

    def command(self):
        drives = [word for drive in self.drives for word in drive.arguments(self.image(drive))]
        accelerator = {"tcg": "tcg,thread=multi"}.get(self.accelerator, self.accelerator)
        share = str(self.share).replace(",", ",,")
        return [QEMU, "-accel", accelerator, "-cpu", "max", "-smp", str(self.processors), "-m", self.memory,
                "-display", "none", "-monitor", "none", "-nic", "none", "-serial", "file:console",
                "-qmp", "unix:monitor,server=on,wait=off", *(["-no-reboot"] if self.reset_ends else []),
                "-device", "isa-debug-exit,iobase=0xf4,iosize=1",
                "-device", "pvpanic", "-device", "pvpanic-pci", "-action", "panic=exit-failure",
                "-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
                "-virtfs", f"local,path={share},mount_tag=share,security_model=none,multidevs=remap",
                "-kernel", str(self.kernel.image), "-initrd", str(initramfs.get(self.kernel)),
                "-append", KERNEL_ARGUMENTS, *drives, *self.arguments]

    @property
    def running(self):
        process = self.process
        return process is not None and process.poll() is None

    def wait(self, seconds, progress=None):
        """Until the guest has ended, `seconds` at most; then it is made to say what it waits for, and killed.
        `progress` is called some times a second; it may end the wait early by returning True, as a hang."""
        deadline = time.monotonic() + seconds
        while self.running:
            if time.monotonic() > deadline or (progress is not None and progress()):
                return self.give_up()
            time.sleep(0.1)
        if self.process is None:
            return Ending("died")  # killed by another thread
        status = self.process.wait()
        self.process = None
        Guest.alive.discard(self)
        if progress is not None:
            progress()
        return self.ending(status)

    def give_up(self):
        try:
            Monitor(self.monitor_path()).blocked_tasks()
        except (OSError, socket.timeout):
            pass  # it is too dead to answer
        self.kill()
        return Ending("hang")

    def ending(self, status):
        written = self.share / "rc"
        if written.exists():
            return Ending("done", int(written.read_text()))
        return Ending("panic") if status == PANIC_STATUS and not self.qemu_complaint() else Ending("died")

    def run(self, job, seconds, progress=None):
        self.start(job)
        return self.wait(seconds, progress)

    def reset(self):
        """What a host crash is: the processors stop wherever they are and come up anew; drives keep their state.
        Wants reset_ends=False."""
        assert not self.reset_ends, "this guest would end"
        Monitor(self.monitor_path()).command("system_reset")

    def kill(self):
        """Ends QEMU at once and waits for it, since it locks its images. Zone states are lost."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.wait()
        Guest.alive.discard(self)

    @staticmethod
    def kill_all():
        """For a program that is interrupted; safe beside threads that wait for guests."""
        Guest.interrupted = True
        for guest in list(Guest.alive):
            guest.kill()

    def monitor_path(self):
        """Relative to here: the path of a socket may have no more than 107 characters."""
        return os.path.relpath(self.directory / "monitor")

    def qemu_complaint(self):
        """What QEMU itself printed, e.g. that it does not take an argument."""
        return (self.directory / "qemu.log").read_text(errors="replace").strip()

    def output(self):
        path = self.share / "output"
        return path.read_text(errors="replace") if path.exists() else ""

    def tail_of_console(self, lines=80):
        text = self.console.read_text(errors="replace").replace("\r", "")
        return "\n".join(text.splitlines()[-lines:])
