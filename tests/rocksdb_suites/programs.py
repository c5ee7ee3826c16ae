"""Which of RocksDB's test programs are run, and how: read from programs.txt."""
import dataclasses

from tooling.places import ROOT, ToolError



@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    way: str  # "uri": takes TEST_FS_URI. "default": uses the default Env, which is replaced. "both": does both
    parts: int = 1  # its cases are dealt to so many processes, each with a device of its own
    quick: int = 0  # parts that --quick runs, from the first; 0: none
    seconds: int = 180  # that one case may take

    def is_quick(self):
        return self.quick > 0


def parse(text):
    programs = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            name, way, *settings = words
            values = {key: int(value) for key, value in (setting.split("=") for setting in settings)}
            if way not in ("uri", "default", "both"):
                raise ValueError
            programs.append(Program(name, way, **values))
        except (ValueError, TypeError):
            raise ToolError(f"programs.txt:{number}: not NAME uri|default|both [parts=N] [quick=N] [seconds=N]") from None
    return programs


def all_programs():
    return parse((ROOT / "tests" / "rocksdb_suites" / "programs.txt").read_text())


def select(programs, names, quick):
    """Those named (with or without _test), else the quick ones or all."""
    if not names:
        return [program for program in programs if program.is_quick() or not quick]
    by_name = {program.name: program for program in programs}
    by_name |= {name.removesuffix("_test"): program for name, program in by_name.items()}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise ToolError(f"there is no program '{unknown[0]}'; --list shows them")
    return [by_name[name] for name in dict.fromkeys(names)]
