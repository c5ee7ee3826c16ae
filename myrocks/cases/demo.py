"""scripts/myrocks-demo, in short, and interrupted."""
import os
import signal
import subprocess

from tooling.places import ROOT

from harness.case import case, expect, expect_equal

SHORT = ["--tables=1", "--rows=2000", "--threads=2", "--seconds=1"]


def heed_interrupts():
    """Where the test itself was started in the background, SIGINT is ignored, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(kit, *flags):
    return subprocess.Popen([ROOT / "scripts" / "myrocks-demo", f"--dir={kit.directory}", *flags], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                            preexec_fn=heed_interrupts)


def servers_in(directory):
    """The process ids of servers that work below `directory`."""
    told = subprocess.run(["pgrep", "--full", f"mariadbd.*{directory}"], capture_output=True, text=True, check=False)
    return told.stdout.split()


def expect_nothing_left(kit):
    expect_equal(os.listdir(kit.directory), [], "files of the demo")
    expect_equal(servers_in(kit.directory), [], "servers of the demo")


@case(short=True)
def the_demo_shows_both_side_by_side(kit):
    """the whole demo with small numbers; it leaves nothing"""
    demo = start(kit, *SHORT)
    output = demo.communicate(timeout=300)[0]
    expect_equal(demo.returncode, 0, f"the demo's exit status; it printed {output[-2000:]}")
    for text in (".sst", "Zenfs_live_bytes", "Side by side", "oltp_read_write", "steps succeeded"):
        expect(text in output, f"the demo did not print {text!r}")
    expect_nothing_left(kit)


@case(short=True)
def an_interrupted_demo_leaves_nothing(kit):
    """Ctrl-C while sysbench runs: no file, no server is left, and the exit status says so"""
    demo = start(kit, *SHORT[:-1], "--seconds=60")
    for line in demo.stdout:
        if line.startswith("3. sysbench"):
            break
    os.killpg(demo.pid, signal.SIGINT)
    rest = demo.communicate(timeout=60)[0]
    expect_equal(demo.returncode, 130, f"the demo's exit status; it printed {rest[-2000:]}")
    expect_nothing_left(kit)
