"""What a drive had acknowledged and what it had flushed when the power went, from the log of programs/device_trace.cc, and
what it may therefore hold when it comes back.

The model: each zone comes back with a write pointer of its own between the one last flushed and the one last acknowledged,
in whole blocks, and its bytes below that. A reset counts as done, and as durable, as soon as it was begun. A finish counts
as done once acknowledged; the zone comes back full if that was flushed, else perhaps.
"""
import collections
import dataclasses


class BadLog(AssertionError):
    """The log is not that of one writer who respects write pointers: something was written that it does not have."""


@dataclasses.dataclass
class Zone:
    """Bytes from the start of the zone."""
    written: int = 0
    flushed: int = 0
    finished: bool = False
    finish_flushed: bool = False


@dataclasses.dataclass(frozen=True)
class Kept:
    """What a zone has after the cut."""
    zone: int
    length: int
    end: str  # what made it what it is, behind the bytes: "close", "finish", "nothing" where they fill the zone


class DriveLog:
    def __init__(self, drive):
        self.drive = drive
        self.zones = [Zone() for _ in range(drive.zones)]
        self.flushes = {}  # under way: the zones that it covers, as they were when it began
        self.at_risk = self.lost = 0  # bytes at the last cut: not flushed; of those, gone
        self.events = collections.Counter()

    def read(self, text):
        """Takes in the events of one boot. A last line without an end was not written when the power went."""
        self.flushes = {}
        for line in text.rpartition("\n")[0].splitlines():
            what, *numbers = line.split()
            if what == "failed":
                raise BadLog(f"the device refused a command: '{line}'")
            self.events[what] += 1
            getattr(self, f"on_{what}")(*(int(number) for number in numbers))

    def on_write(self, offset, length):
        zone = self.zone_at(offset)
        if offset % self.drive.zone_size != zone.written or zone.finished:
            raise BadLog(f"a write at {offset}, but the log has written {zone.written} bytes of that zone")
        zone.written += length

    def on_flush(self, number):
        self.flushes[number] = [(zone, zone.written, zone.finished) for zone in self.zones
                                if zone.written != zone.flushed or zone.finished != zone.finish_flushed]

    def on_flushed(self, number):
        for zone, written, finished in self.flushes.pop(number):
            zone.flushed = max(zone.flushed, written)
            zone.finish_flushed |= finished

    def on_reset(self, offset, length):
        self.check_whole(offset, length)
        self.zones[offset // self.drive.zone_size] = Zone()  # flushes under way keep the old one

    def on_finish(self, offset, length):
        self.check_whole(offset, length)
        self.zone_at(offset).finished = True

    def zone_at(self, offset):
        return self.zones[offset // self.drive.zone_size]

    def check_whole(self, offset, length):
        if offset % self.drive.zone_size or length != self.drive.zone_size:
            raise BadLog(f"a command for {length} bytes at {offset}, not for one zone")

    def cut(self, random):
        """What the drive comes back with; from then on all of it is flushed. Now and then it keeps nothing that was not
        flushed; else each zone has its own luck."""
        keeps_nothing = random.random() < 0.2
        kept = []
        self.at_risk = sum(zone.written - zone.flushed for zone in self.zones)
        written = sum(zone.written for zone in self.zones)
        for number, zone in enumerate(self.zones):
            length = zone.flushed if keeps_nothing else self.choose(zone, random)
            full = zone.finish_flushed or (zone.finished and length == zone.written and random.random() < 0.5)
            self.zones[number] = Zone(length, length, full, full)
            if length or full:
                open_still = length < self.drive.zone_capacity
                kept.append(Kept(number, length, "finish" if full else "close" if open_still else "nothing"))
        self.lost = written - sum(zone.written for zone in self.zones)
        return kept

    def choose(self, zone, random):
        blocks = (zone.written - zone.flushed) // self.drive.block
        between = zone.flushed + random.randint(0, blocks) * self.drive.block
        return random.choice((zone.flushed, between, zone.written))
