"""ZenFS once more, without a guest: on a device of the same geometry that is emulated in a file on tmpfs.

Bytes and room depend on the work and hardly on time, so they should be those of the guest. There the kernel counts the bytes,
here ZenFS does: a difference would be a fault of either, or of the guest.
"""
import pathlib
import shutil
import uuid

from peers import cases, phases
from tooling import process
from tooling.places import ToolError
from trial import db_bench_output
from trial.candidates import Place
from trial.places import check_room
from trial.zenfs_command import Zenfs, bytes_by_cause

PATIENCE = 1000
TMPFS = pathlib.Path("/dev/shm")


def compared(case):
    """The phases that write what was asked for, and not for so many seconds."""
    return [phase for phase in case.phases if phase.seconds is None and not phase.benchmark.startswith(("readrandom", "seekrandom"))]


def measure(programs, wanted, screen):
    """[{case, phase, written, operations}] of the cases that are `wanted` by name."""
    check_room(TMPFS, cases.CAPACITY + (1 << 30), "the emulated device outside of the guest")
    folder = TMPFS / f"zenfs-peers-{uuid.uuid4().hex[:12]}"
    folder.mkdir()
    try:
        return [sample for case in cases.CASES if case.name in wanted for sample in measure_case(programs, case, folder, screen)]
    finally:
        shutil.rmtree(folder)


def measure_case(programs, case, folder, screen):
    zenfs, image, page = Zenfs(programs["zenfs"]), folder / "device.img", folder / "counters"
    drive, found = cases.ZONED, []
    if not compared(case):
        return found
    zenfs("emu", "create", image, "--force", f"--zones={drive.zones}", f"--zone-size={drive.zone_size}",
          f"--max-open={drive.max_open}", f"--max-active={drive.max_active}")
    zenfs("mkfs", f"--emu={image}")
    for phase in compared(case):
        screen.working(f"outside of the guest: {case.name}, {phase.name}")
        place = Place(phase.database, f"zenfs://emu:{image}?flush_dir:{folder},metrics_file:{page}", programs["plugin"])
        words = phases.words(programs, case, phase, place, 0, folder / "acknowledged")
        try:
            done = process.run(words, folder / "output", place.environment(), PATIENCE)
        except process.ProcessFailed as error:
            raise ToolError(f"{case.name}, {phase.name}: {error.reason}") from error
        result = db_bench_output.result_of(done.output, phase.benchmark)
        found.append({"case": case.name, "phase": phase.name, "written": sum(bytes_by_cause(zenfs.counters(page)).values()),
                      "operations": result.operations})
    return found
