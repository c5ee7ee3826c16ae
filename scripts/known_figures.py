"""Holds the pages to figures and names that the sources know: what `scripts/check-style` asks of them."""
import re

ARCHITECTURE = "docs/internals/architecture.md"
STARTED = re.compile(r'Thread::Start\("(zenfs-\w+)"')
ROW = re.compile(r"^\| `(zenfs-\w+)` \|", re.M)

# Page -> what it says, with one group, and the expression in a source that has the same number.
FIGURES = (
    ("docs/use/sizing.md", r"\| shared memory \| (\d+) buffers", "src/open/mount_options.h", r"append_buffers = (\d+);"),
    ("docs/use/command.md", r"shared memory file \(.*\): (\d+) buffers", "src/open/mount_options.h", r"append_buffers = (\d+);"),
    (ARCHITECTURE, r"or all (\d+) buffers are in use", "src/open/mount_options.h", r"append_buffers = (\d+);"),
    ("docs/use/rocksdb.md", r"\| `wal_depth:N` \|[^|]*\| (\d+) \|", "src/open/mount_options.h", r"wal_depth = (\d+);"),
    ("docs/use/sizing.md", r"logs-over-several-zones\) of up to (\d+) on drives of small zones", "src/zone/spread.cc",
     r"kLogZones = (\d+);"),
)


def check_threads(root, report):
    """Each thread of a library or the command has a row in the table of threads, and each row a thread."""
    page = root / ARCHITECTURE
    if not page.exists():
        return
    started = {}
    for path in sorted((root / "src").rglob("*.cc")):
        for name in STARTED.findall(path.read_text(encoding="utf-8")):
            started[name] = path.relative_to(root).as_posix()
    named = set(ROW.findall(page.read_text(encoding="utf-8")))
    for name in sorted(set(started) - named):
        report(ARCHITECTURE, 1, f"the table of threads has no {name}, which {started[name]} starts")
    for name in sorted(named - set(started)):
        report(ARCHITECTURE, 1, f"nobody starts the thread {name}")


def check_figures(root, report, figures):
    for page, said, source, meant in figures:
        if not (root / page).exists():
            continue
        text = (root / page).read_text(encoding="utf-8")
        code = (root / source).read_text(encoding="utf-8") if (root / source).exists() else ""
        for path, where, pattern in ((page, text, said), (source, code, meant)):
            if not re.search(pattern, where):
                report(path, 1, f"nothing matches {pattern}; scripts/known_figures.py compares it")
        found, true = re.search(said, text), re.search(meant, code)
        if found and true and found.group(1) != true.group(1):
            line = text.count("\n", 0, found.start()) + 1
            report(page, line, f"says {found.group(1)}, and {source} {true.group(1)}")


def check(root, report, figures=FIGURES):
    check_threads(root, report)
    check_figures(root, report, figures)
