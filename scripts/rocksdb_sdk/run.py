"""Running the clients of package registries: quiet, and one line when they fail."""
import shutil
import subprocess

from tooling.places import ToolError


def run(command, what, log, **keywords):
    """Runs `command`, its output into the file `log`. ToolError says that `what` failed and how it ended."""
    program = command[0]
    if shutil.which(program) is None:
        raise ToolError(f"can't get {what}: there is no {program} (scripts/setup installs it)")
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "w", encoding="utf-8") as output:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, check=False,
                              **keywords)
    if done.returncode != 0:
        raise ToolError(f"can't get {what}: {program} failed: {gist_of(log)}; all it said is in {log}")


def gist_of(log):
    """The line that tells most: the first that speaks of an error (hints and sums follow it), else the last."""
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower() or "failed" in line.lower()]
    return (telling[:1] or lines or ["it said nothing"])[-1][:300]
