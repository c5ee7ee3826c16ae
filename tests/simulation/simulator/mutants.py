"""The mutation check: each rule is broken in a copy of the sources, and the simulator must find it."""
import filecmp
import os
import shutil
import subprocess
import time

from tooling.places import BUILD_ROOT, ROOT, ToolError, compiler_cache

from simulator import workers
from simulator.mutations import MUTATIONS

LEFT_OUT = {".git", "build", "__pycache__", "docs"}
SECONDS_MAX = 1800  # for one mutant: the rarest takes ten minutes on two cores that do nothing else


def bring_up_to_date(source, copy):
    """Writes only changed files, so that a second run compiles only these."""
    if source.is_dir():
        copy.mkdir(exist_ok=True)
        names = {path.name for path in source.iterdir() if path != BUILD_ROOT} - LEFT_OUT
        for stale in [path for path in copy.iterdir() if path.name not in names]:
            shutil.rmtree(stale) if stale.is_dir() else stale.unlink()
        for name in names:
            bring_up_to_date(source / name, copy / name)
    elif not copy.exists() or not filecmp.cmp(source, copy, shallow=False):
        shutil.copyfile(source, copy)


class Mutants:
    """A copy of the sources and a build of it; a mutant compiles only what it changes."""

    def __init__(self):
        self.tree = BUILD_ROOT / "mutants" / "tree"
        self.build = BUILD_ROOT / "mutants" / "build"
        self.program = self.build / "zenfs_simulate"

    def prepare(self):
        self.tree.mkdir(parents=True, exist_ok=True)
        bring_up_to_date(ROOT, self.tree)
        if not (self.build / "build.ninja").exists():
            self.must(["cmake", "-S", self.tree, "-B", self.build, "--preset", "release", "-DZENFS_WERROR=OFF",
                       "-DZENFS_ASSERTIONS=ON", *compiler_cache()])
        self.must(self.ninja())

    def ninja(self):
        return ["ninja", "-C", self.build, "zenfs_simulate"]

    def must(self, command):
        environment = {**os.environ, "CCACHE_NOHASHDIR": "true"}
        done = subprocess.run(command, cwd=self.tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        if done.returncode != 0:
            raise ToolError(f"{' '.join(map(str, command))} fails:\n{done.stdout[-3000:]}")

    def make(self, mutation):
        for piece in mutation.pieces:
            path = self.tree / piece.file
            text = path.read_text()
            if text.count(piece.old) != 1:
                raise ToolError(f"mutation {mutation.name}: its text occurs {text.count(piece.old)} times in "
                                      f"{piece.file}, not once; fix tests/simulation/simulator/mutations.py")
            path.write_text(text.replace(piece.old, piece.new))
        self.must(self.ninja())

    def undo(self, mutation):
        for piece in mutation.pieces:  # newer than the objects of the mutant
            shutil.copyfile(ROOT / piece.file, self.tree / piece.file)


def chosen(names):
    known = {mutation.name: mutation for mutation in MUTATIONS}
    for name in names:
        if name not in known:
            raise ToolError(f"there is no mutation '{name}'; there are: {', '.join(known)}")
    return [known[name] for name in names] or list(MUTATIONS)


def run(names, seeds_max, jobs, screen):
    mutations = chosen(names)
    mutants = Mutants()
    screen.working("building the sources as they are")
    mutants.prepare()
    screen.line(f"{'':8} {'mutant':32} {'seeds':>7} {'crashes':>9} {'time':>7}  rule")
    results = []
    for mutation in mutations:
        results.append(try_one(mutants, mutation, seeds_max, jobs, screen))
    found = sum(result["found"] for result in results)
    screen.line(f"{found} of {len(results)} mutants found")
    return results


def try_one(mutants, mutation, seeds_max, jobs, screen):
    screen.working(f"breaking: {mutation.rule}")
    try:
        mutants.make(mutation)
        started = time.monotonic()
        totals, failure = workers.run(mutants.program, first=1, seeds=seeds_max, seconds=SECONDS_MAX, jobs=jobs,
                                      on_progress=lambda _: None)
    finally:
        mutants.undo(mutation)
    result = {"name": mutation.name, "rule": mutation.rule, "found": failure is not None, "seeds": totals.seeds,
              "crashes": totals.crashes, "seconds": round(time.monotonic() - started, 1),
              "seed": failure.seed if failure else None, "failure": failure.what if failure else None}
    verdict = "found" if failure else "MISSED"
    screen.line(f"{verdict:8} {mutation.name:32} {totals.seeds:>7} {totals.crashes:>9} {result['seconds']:>5.0f} s  "
                f"{mutation.rule}")
    if failure:
        screen.line(f"{'':8} seen as: {failure.what[:160]}")
    return result
