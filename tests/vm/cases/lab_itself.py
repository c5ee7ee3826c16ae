"""The lab must notice what goes wrong: a case that can't fail shows nothing."""
from lab import drives
from lab.case import case

DRIVE = drives.LIMITED
REPORT = f"blkzone report -c 1 /dev/$LAB_{DRIVE.serial.upper()}"


@case(host=True, short=())
def bad_endings_are_told_apart(bench):
    "a job that fails, a kernel that panics, a guest that hangs, and one that goes off without a word"
    def ending_of(job, seconds=60, **options):
        with bench.guest("bad", **options) as guest:
            ending = guest.run("#!/bin/bash\n" + job, seconds)
            return (ending.kind, ending.status), guest.console.read_text(errors="replace")

    for job, wanted in (("exit 0", ("done", 0)), ("exit 1", ("done", 1)), ("exit 3", ("done", 3)),
                        ("echo c >/proc/sysrq-trigger", ("panic", None)),
                        ("echo o >/proc/sysrq-trigger; sleep 60", ("died", None))):
        found, _ = ending_of(job)
        assert found == wanted, f"'{job}' ended as {found}, not {wanted}"
    found, console = ending_of("sleep 1000", seconds=20)
    assert found == ("hang", None), f"a job that hangs ended as {found}"
    assert "Show Blocked State" in console, "the console does not tell what was waited for"


@case(host=True, short=())
def zones_survive_a_reset(bench):
    "a reset stops a guest in the middle: it comes up again, the same job runs, and the drive has kept its zones"
    write = f"dd if=/dev/zero of=/dev/$LAB_{DRIVE.serial.upper()} bs=4096 count=3 oflag=direct"
    job = f"#!/bin/bash\nif [ $LAB_BOOTS = 1 ]; then {write}; touch $LAB_SHARE/written; sleep 1000; fi\n{REPORT}\n"

    def written():
        if (guest.share / "written").exists():
            (guest.share / "written").unlink()
            guest.reset()

    with bench.guest("reset", drives=[DRIVE], reset_ends=False) as guest:
        ending = guest.run(job, 60, written)
        assert ending.ok, f"{ending}\n{guest.tail_of_console()}"
        assert "wptr 0x000018" in guest.output() and "(oi)" in guest.output(), guest.output()


@case(host=True, short=())
def zones_are_empty_in_a_new_guest(bench):
    "what the emulation can't do: a new QEMU on the same image knows nothing of the zones, but has the bytes"
    device = f"/dev/$LAB_{DRIVE.serial.upper()}"
    jobs = (f"yes | dd of={device} bs=4096 count=3 oflag=direct iflag=fullblock", REPORT)
    for job in jobs:
        with bench.guest("again", drives=[DRIVE]) as guest:
            assert guest.run("#!/bin/bash\n" + job, 60).ok, guest.output()
            output = guest.output()
            assert guest.image(DRIVE).read_bytes()[:4] == b"y\ny\n"
    assert "wptr 0x000000" in output and "(em)" in output, output
