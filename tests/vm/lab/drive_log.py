"""What a drive had acknowledged and what it had flushed when the power went, from the log of programs/device_trace.cc, and
what it may therefore hold when it comes back.

The model: each zone comes back with a write pointer of its own between the one last flushed and the one last acknowledged,
in whole blocks, and its bytes below that. A reset counts as done, and as durable, as soon as it was begun. A finish counts
as done once acknowledged; the zone comes back full if that was flushed, else perhaps. Appends may be acknowledged in
another order than that of their places: what is below the write pointer but was not acknowledged is there as it was written.

A zone opened with a random write area is never written but in its area. Each block of it comes back as it was flushed, or as
it was written at any time later, or torn: with the beginning of one of these and the end of the next. The opening counts
as durable once acknowledged.
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
    holes: set = dataclasses.field(default_factory=set)  # blocks of appends that were not acknowledged yet
    by_commands: bool = False  # the last bytes were; the kernel may not know of them (device-assumptions 20)
    area: bool = False
    blocks: dict = dataclasses.field(default_factory=dict)  # offset on the drive: Block


@dataclasses.dataclass(frozen=True)
class Version:
    """The bytes of a block: the first `torn` ones are at `at` in the log's file of bytes, the others belong to a block at
    `behind`."""
    at: int
    torn: int
    behind: int


@dataclasses.dataclass
class Block:
    """Of a random write area."""
    versions: list = dataclasses.field(default_factory=list)  # Version
    flushed: int = 0  # so many of them


@dataclasses.dataclass(frozen=True)
class Kept:
    """What a zone has after the cut."""
    zone: int
    length: int
    end: str  # what made it what it is, behind the bytes: "close", "finish", "area", "nothing" where they fill the zone




class DriveLog:
    def __init__(self, drive):
        self.drive = drive
        self.zones = [Zone() for _ in range(drive.zones)]
        self.in_doubt = set()
        self.flushes = {}  # under way: the zones that it covers, as they were when it began
        self.kept_blocks = []  # after the last cut: offset on the drive, Version
        self.at_risk = self.lost = 0  # bytes at the last cut: not flushed; of those, gone
        self.events = collections.Counter()

    def read(self, text):
        """Takes in the events of one boot. A last line without an end was not written when the power went."""
        self.flushes = {}
        self.in_doubt = set()  # writes: offset, length
        lines = text.rpartition("\n")[0].splitlines()
        for at, line in enumerate(lines):
            what, *numbers = line.split()
            self.events[what] += 1
            if what == "cancelled":
                self.on_cancelled(*numbers)
                continue
            if what == "failed":
                if self.had_landed(*numbers) or self.was_refused_by_the_kernel(*numbers):
                    continue
                raise BadLog(f"the device refused a command: '{line}', after {lines[max(0, at - 12):at]}")
            getattr(self, f"on_{what}")(*(int(number) for number in numbers))

    def on_cancelled(self, what, *numbers):
        """The command may have been executed. A write or copy shows it when it is repeated; an append leaves a hole, or nothing that was
        acknowledged; a block of a random write area may have the new bytes."""
        if what in ("write", "copy"):
            self.in_doubt.add(tuple(int(number) for number in numbers))
        elif what == "rewrite":
            self.on_rewrite(*(int(number) for number in numbers))

    def had_landed(self, what, *numbers):
        """True if this write or copy was refused because it had been executed when it was cancelled. The program finds its bytes there."""
        key = tuple(int(number) for number in numbers)
        if what not in ("write", "copy") or key not in self.in_doubt:
            return False
        self.in_doubt.remove(key)
        self.on_write(*key)
        return True

    def was_refused_by_the_kernel(self, what, *numbers):
        """True if the kernel may have refused this write for a write pointer of its own that a command of the drive has passed. It
        then asks the drive, and the program writes again."""
        if what != "write":
            return False
        offset, _ = (int(number) for number in numbers)
        zone = self.zone_at(offset)
        known, zone.by_commands = zone.by_commands, False
        return known and offset % self.drive.zone_size == zone.written

    def on_write(self, offset, length):
        zone = self.zone_at(offset)
        if offset % self.drive.zone_size != zone.written or zone.finished:
            raise BadLog(f"a write at {offset}, but the log has written {zone.written} bytes of that zone")
        zone.written += length

    def on_copy(self, offset, length):
        """The drive keeps of it what it might keep of a write. Its bytes are those that the old image has there."""
        self.on_write(offset, length)
        self.zone_at(offset).by_commands = True

    def on_append(self, offset, length):
        zone = self.zone_at(offset)
        begin = offset % self.drive.zone_size
        blocks = set(range(begin, begin + length, self.drive.block))
        if zone.finished or zone.area or (begin < zone.written and not blocks <= zone.holes):
            raise BadLog(f"an append at {offset}, but the log has written {zone.written} bytes of that zone")
        zone.holes |= set(range(zone.written, begin, self.drive.block))
        zone.holes -= blocks
        zone.written = max(zone.written, begin + length)
        zone.by_commands = True

    def on_rewrite(self, offset, length, at):
        zone = self.zone_at(offset)
        if not zone.area:
            raise BadLog(f"a write at {offset} into a random write area, but the log has none in that zone")
        for skip in range(0, length, self.drive.block):
            version = Version(at + skip, self.drive.block, at + skip)
            zone.blocks.setdefault(offset + skip, Block()).versions.append(version)

    def on_flush(self, number):
        self.flushes[number] = (
            [(zone, zone.written, zone.finished) for zone in self.zones
             if zone.written != zone.flushed or zone.finished != zone.finish_flushed],
            [(block, len(block.versions)) for zone in self.zones for block in zone.blocks.values()])

    def on_flushed(self, number):
        zones, blocks = self.flushes.pop(number)
        for zone, written, finished in zones:
            zone.flushed = max(zone.flushed, written)
            zone.finish_flushed |= finished
        for block, versions in blocks:
            block.flushed = max(block.flushed, versions)

    def on_reset(self, offset):
        self.check_start(offset)
        self.zones[offset // self.drive.zone_size] = Zone()  # flushes under way keep the old one

    def on_finish(self, offset):
        self.check_start(offset)
        self.zone_at(offset).finished = True

    def on_area(self, offset):
        self.check_start(offset)
        zone = self.zone_at(offset)
        if zone.written or zone.finished:
            raise BadLog(f"the zone at {offset} gets a random write area, but the log has written {zone.written} bytes of it")
        zone.area = True

    def zone_at(self, offset):
        return self.zones[offset // self.drive.zone_size]

    def check_start(self, offset):
        if offset % self.drive.zone_size:
            raise BadLog(f"a command for a zone at {offset}, where none begins")

    def cut(self, random):
        """What the drive comes back with; from then on all of it is flushed. Now and then it keeps nothing that was not
        flushed; else each zone has its own luck."""
        keeps_nothing = random.random() < 0.2
        kept = []
        self.kept_blocks = []
        self.at_risk = sum(zone.written - zone.flushed + self.drive.block * self.unflushed_blocks(zone) for zone in self.zones)
        written = sum(zone.written for zone in self.zones)
        for number, zone in enumerate(self.zones):
            if zone.area:
                kept.append(Kept(number, 0, "area"))
                self.cut_blocks(zone, keeps_nothing, random)
                continue
            length = zone.flushed if keeps_nothing else self.choose(zone, random)
            full = zone.finish_flushed or (zone.finished and length == zone.written and random.random() < 0.5)
            self.zones[number] = Zone(length, length, full, full)
            if length or full:
                open_still = length < self.drive.zone_capacity
                kept.append(Kept(number, length, "finish" if full else "close" if open_still else "nothing"))
        self.lost = written - sum(zone.written for zone in self.zones)
        return kept

    @staticmethod
    def unflushed_blocks(zone):
        return sum(block.flushed < len(block.versions) for block in zone.blocks.values())

    def cut_blocks(self, zone, keeps_nothing, random):
        for offset, block in sorted(zone.blocks.items()):
            kept = block.flushed if keeps_nothing else random.randint(block.flushed, len(block.versions))
            survivors = block.versions[:kept][-1:]
            if kept > max(block.flushed, 1) and random.random() < 0.3:
                survivors = [Version(block.versions[kept - 1].at, random.randrange(512, self.drive.block, 512),
                                     block.versions[kept - 2].at)]
            block.versions, block.flushed = survivors, len(survivors)
            self.kept_blocks += [(offset, version) for version in survivors]

    def choose(self, zone, random):
        blocks = (zone.written - zone.flushed) // self.drive.block
        between = zone.flushed + random.randint(0, blocks) * self.drive.block
        return random.choice((zone.flushed, between, zone.written))
