"""A database under load whose machine crashes or loses its power, again and again: what was acknowledged is there after each."""
import contextlib
import dataclasses

from lab.case import case
from lab.crash_load import DRIVE, NEEDS, CrashLoad, job, moments, unflushed_moment
from lab.drive_log import DriveLog
from lab.drives import RegularDrive
from lab.places import BINARIES, VM

OLD = RegularDrive("old", DRIVE.zones * DRIVE.zone_size)  # the drive as the cut left it, its zones forgotten
# For the log's frames of 16 databases, and for a log with a random write area, which need more active zones.
WIDE = dataclasses.replace(DRIVE, max_open=14, max_active=14)
WITH_AREAS = dataclasses.replace(WIDE, random_zones=2)
SIXTEEN = "export ZENFS_CRASH_DATABASES=16\n"
MOST_MORE_CUTS = 10  # where those of the plan have found everything flushed, as on a slow host they may
ON_BLOCK = "dev:$LAB_CRASH"
ON_NVME = "nvme:ng${LAB_CRASH#nvme}"
BY_APPEND = ON_NVME + "?wal:append,wal_depth:16"
# By turns as commands, as a block device with commands beside it, and as one without, which does not know of the areas.
IN_TURN = """$(case $((turn % 4)) in
  0) echo "dev:$LAB_CRASH?commands:0" ;;
  2) echo "dev:$LAB_CRASH" ;;
  *) echo "nvme:ng${LAB_CRASH#nvme}" ;;
esac)"""
ON_ZONEFS = "zonefs:/run/tmp/crash"
MOUNT_ZONEFS = f"""
if [ $turn = 1 ]; then
  PYTHONPATH='{VM}' python3 -c "import os; from guest import zonefs; zonefs.make(os.environ['LAB_CRASH'])" || exit 1
fi
chroot /proc/1/root /bin/modprobe zonefs
mkdir -p /run/tmp/crash
mount -t zonefs -o explicit-open,errors=repair /dev/$LAB_CRASH /run/tmp/crash || exit 1
"""


def plan_of(bench, name, traced, count=20):
    """The moments of the crashes and their source of chance. In the short selection they come sooner."""
    random = bench.random(name)
    return random, list(moments(random, count if bench.full else 3, most=300 if bench.full else 50, traced=traced))


def crash_host(bench, name, device, before="", drive=DRIVE, count=20):
    """Every other crash is the guest's own, by sysrq b, the others a reset from outside; both keep the drive as it is."""
    random, plan = plan_of(bench, name, traced=False, count=count)
    own = [turn % 2 == 0 and moment.of_load for turn, moment in enumerate(plan)]
    counts = [moment.count if by_guest else 0 for moment, by_guest in zip(plan, own)]
    seeds = [random.getrandbits(32) for _ in plan]
    script = job(device, turn="$LAB_BOOTS", last=len(plan) + 1, before=before,
                 seed=f"$(set -- {' '.join(map(str, seeds))} 0; echo ${{!LAB_BOOTS}})",
                 acknowledgements=f"$(set -- {' '.join(map(str, counts))} 0; echo ${{!LAB_BOOTS}})")
    with bench.guest("guest", drives=[drive], reset_ends=False) as guest:
        load = CrashLoad(guest)
        guest.start(script)
        for turn, (moment, by_guest) in enumerate(zip(plan, own), 1):
            if not by_guest:
                load.wait_for(turn, moment)
                guest.reset()
            load.wait_for_boot(turn + 1)
            bench.say(f"crash {turn}: {'sysrq b' if by_guest else 'reset'} {moment}; {load.keys()} keys acknowledged")
        load.wait_for_end(len(plan) + 1)
        return f"{len(plan)} crashes, {load.keys()} keys acknowledged, {bench.seed_text}"


@case(host=True, needs=NEEDS, short=("6.12",))
def host_crash(bench):
    "every synced key is there after crashes of the host, which leave the drive as it was"
    return crash_host(bench, "host crash", ON_BLOCK)


@case(host=True, needs=NEEDS, short=())
def host_crash_with_nvme_commands(bench):
    "the same by NVMe commands"
    return crash_host(bench, "host crash with NVMe commands", ON_NVME)


@case(host=True, needs=NEEDS, short=())
def host_crash_on_zonefs(bench):
    "the same through zonefs"
    return crash_host(bench, "host crash on zonefs", ON_ZONEFS, MOUNT_ZONEFS)


@case(host=True, needs=NEEDS, short=())
def host_crash_under_appends(bench):
    "the same with 16 databases whose logs are sent by zone append, up to 16 in flight"
    return crash_host(bench, "host crash under appends", BY_APPEND, SIXTEEN, drive=WIDE)


@case(host=True, needs=NEEDS, short=("6.12",))
def host_crash_with_random_areas(bench):
    "the same with small syncs in a random write area, by nvme: and dev: in turn"
    return crash_host(bench, "host crash with random write areas", IN_TURN, drive=WITH_AREAS, count=27)


def rebuild_job(device, turn, last, seed, before):
    if turn > 1:
        before += f"python3 '{VM}/guest/rebuild.py' $LAB_OLD $LAB_CRASH $LAB_SHARE/plan $LAB_SHARE/trace.bytes || exit 1"
    return job(device, turn=turn, last=last, seed=seed, before=before, trace=BINARIES / "libzenfs_device_trace.so")


def lose_power(guest, log, random):
    """Puts the drive away and writes down what the new one is to be made of."""
    trace = guest.share / "trace"
    if trace.exists():
        log.read(trace.read_text())
        trace.unlink()
    guest.image(OLD).unlink(missing_ok=True)
    guest.image(log.drive).rename(guest.image(OLD))
    kept = log.cut(random)
    (guest.share / "plan").write_text(
        "".join(f"{one.zone} {one.length} {one.end}\n" for one in kept) +
        "".join(f"block {offset} {one.at} {one.torn} {one.behind}\n" for offset, one in log.kept_blocks))


@dataclasses.dataclass
class PowerCuts:
    """A drive that loses its power again and again; each boot gets what the cut before has left."""
    bench: object
    random: object
    log: DriveLog
    device: str
    before: str = ""
    done: int = 0
    unflushed: int = 0  # bytes at the cuts

    @contextlib.contextmanager
    def boot(self, last=False):
        turn = self.done + 1
        drive = self.log.drive
        with self.bench.guest("guest", drives=[drive] if turn == 1 else [drive, OLD]) as guest:
            seed = self.random.getrandbits(32)
            guest.start(rebuild_job(self.device, turn, turn if last else 0, seed, self.before))
            yield guest, CrashLoad(guest), turn

    def cut(self, moment):
        with self.boot() as (guest, load, turn):
            load.wait_for(turn, moment)
            guest.kill()
        lose_power(guest, self.log, self.random)
        self.done += 1
        self.unflushed += self.log.at_risk
        self.bench.say(f"cut {turn}: {moment}; {load.keys()} keys acknowledged, {self.log.at_risk} bytes not flushed, of "
                       f"which {self.log.lost} lost")

    def end(self):
        """A last boot, without a load. Returns how many keys were acknowledged in all."""
        with self.boot(last=True) as (_, load, turn):
            load.wait_for_end(turn)
            return load.keys()


def cut_power(bench, name, device, *, drive=DRIVE, before="", count=20, wanted=()):
    """`wanted`: events that the log must have had, or the cuts show nothing."""
    random, plan = plan_of(bench, name, traced=True, count=count)
    cuts = PowerCuts(bench, random, DriveLog(drive), device, before)
    for moment in plan:
        cuts.cut(moment)
    while cuts.unflushed == 0 and cuts.done < len(plan) + MOST_MORE_CUTS:
        cuts.cut(unflushed_moment(random))
    keys = cuts.end()
    bench.say("in all: " + ", ".join(f"{number} {what}" for what, number in sorted(cuts.log.events.items())))
    assert keys > 0 and cuts.unflushed > 0, "nothing could have been lost: the cuts show nothing"
    assert all(cuts.log.events[what] > 0 for what in wanted), f"there was no {' or no '.join(wanted)}"
    return f"{cuts.done} cuts, {keys} keys acknowledged, {cuts.unflushed >> 10} KiB not flushed, {bench.seed_text}"


@case(host=True, needs=NEEDS, short=("6.1",))
def power_cut(bench):
    "every synced key is there after losses of power, which take what the drive had not flushed"
    return cut_power(bench, "power cut", ON_BLOCK)


@case(host=True, needs=NEEDS, short=())
def power_cut_under_appends(bench):
    "the same with 16 databases whose logs are sent by zone append, up to 16 in flight"
    return cut_power(bench, "power cut under appends", BY_APPEND, drive=WIDE, before=SIXTEEN, wanted=("append",))


@case(host=True, needs=NEEDS, short=())
def power_cut_with_random_areas(bench):
    "the same with small syncs in a random write area, by nvme: and dev: in turn"
    return cut_power(bench, "power cut with random write areas", IN_TURN, drive=WITH_AREAS, count=27, wanted=("rewrite",))
