"""Running programs for one RocksDB: all output into one log, which is named when something fails."""
import os
import pathlib
import subprocess


from tooling.places import ToolError

PATIENCE = 1800  # seconds that a command may take


class StepFailed(ToolError):
    """A command failed: the text says which, and how."""


class Steps:
    """Commands of one RocksDB, in order. `log` is written anew."""

    def __init__(self, log: pathlib.Path):
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("")

    def run(self, what, *command, preload=None, status=0, errors_too=False, patience=PATIENCE,
            **environment):
        """What the command printed on standard output. It must end with `status` (-9: killed) within `patience`."""
        variables = {**os.environ, **{name: str(value) for name, value in environment.items()}}
        variables.pop("LD_PRELOAD", None)
        if preload is not None:
            variables["LD_PRELOAD"] = str(preload)
        with open(self.log, "a", encoding="utf-8") as log:
            log.write(f"\n$ {' '.join(map(str, command))}\n")
            log.flush()
            try:
                done = subprocess.run([str(part) for part in command], env=variables, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT if errors_too else log, text=True,
                                      check=False, timeout=patience)
            except subprocess.TimeoutExpired as expired:
                log.write((expired.stdout or b"").decode(errors="replace"))
                raise self.failed(f"{what} had not ended after {patience} s") from None
            log.write(done.stdout)
        if done.returncode != status:
            raise self.failed(f"{what} ended with {done.returncode}: {self.last_line()}")
        return done.stdout

    def failed(self, reason):
        return StepFailed(f"{reason}; see {self.log}")

    def last_line(self):
        lines = [line.strip() for line in self.log.read_text(encoding="utf-8", errors="replace").splitlines()]
        telling = [line for line in lines if "error" in line.lower() or line.startswith("smoke:")]
        return (telling or [line for line in lines if line] or [""])[-1][:300]
