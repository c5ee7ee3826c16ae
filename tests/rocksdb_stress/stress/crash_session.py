"""One session of RocksDB's own db_crashtest.py, in a process of its own.

The script is taken as it is; what is done around it is done to its functions. They start db_stress and kill it, as
ever; here they also choose from a seed, kill after times that vary, write down what each run said, and ask ZenFS
between two runs. In the end one more run is let finish: a run that hangs would be killed like any other and never be seen.
"""
import importlib.util
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import types

from stress import output

LAST_RUN_SECONDS = 240  # it is let finish; far more than it takes on a busy machine
LAST_RUN_OPERATIONS = 300  # of each thread


class Session:
    """`settings` are those that run.py writes."""

    def __init__(self, settings):
        self.settings = settings
        self.logs = pathlib.Path(settings["logs"])
        self.kill_times = random.Random(settings["seed"])  # its own, so that the script's choices stay the seed's
        self.cut_seeds = random.Random(f"cuts {settings['seed']}")
        self.count = 0
        self.ended = False
        self.command = None
        random.seed(settings["seed"])  # before the script is loaded: it chooses while it is
        spec = importlib.util.spec_from_file_location("db_crashtest", settings["script"])
        self.script = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.script)
        self.execute = self.script.execute_cmd
        self.script.execute_cmd = self.run
        # It waits two seconds after a kill, to let things settle. Here nothing has to settle.
        self.script.time = types.SimpleNamespace(time=self.script.time.time, sleep=lambda seconds: None)
        # It would ask the host's directory of the database's name, on which nothing is.
        self.script.is_direct_io_supported = lambda name: True
        # It removes the database through the host's file system.
        self.script.shutil = types.SimpleNamespace(rmtree=self.remove)
        self.kill_again_and_again = self.script.blackbox_crash_main
        self.script.blackbox_crash_main = self.blackbox

    def event(self, **fields):
        with open(self.settings["events"], "a", encoding="utf-8") as events:
            events.write(json.dumps(fields) + "\n")

    def fail(self, reason):
        self.event(failed=reason)
        print(f"FAILED: {reason}")
        sys.exit(1)

    def blackbox(self, arguments, unknown_arguments):
        """In place of the script's blackbox_crash_main, which returns before it removes the expected state."""
        self.kill_again_and_again(arguments, unknown_arguments)
        self.last_run()
        self.ended = True

    def remove(self, path, ignore_errors=False):
        """In place of the script's shutil.rmtree. The database has the same name on the host, where it is empty."""
        name = pathlib.Path(path).name
        if name == "rocksdb_crashtest_blackbox" and not self.ended and self.count > 0:
            return  # when its time is over; the last run is still to come
        shutil.rmtree(path, ignore_errors)
        if name == "rocksdb_crashtest_whitebox" and not self.ended and self.count > 0:
            done = subprocess.run([*self.settings["remove"], f"--path={path}"], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                self.fail(f"zenfs rmdir after run {self.count}: {done.stderr.strip()}")

    def run(self, command, timeout):
        """In place of the script's execute_cmd. As a black box db_stress is killed from here, else it kills itself."""
        self.command = command
        blackbox = self.settings["arguments"][0] == "blackbox"
        return self.one_run(command, timeout * self.kill_times.uniform(0.1, 1.9) if blackbox else timeout)

    def one_run(self, command, seconds):
        self.count += 1
        base = self.logs / f"{self.count:04}"
        full = [*self.settings["preload"], *command]
        base.with_suffix(".command").write_text(" \\\n  ".join(full) + "\n")
        before = self.script.time.time()
        late, status, out, err = self.execute(full, seconds)
        killed = late or (status == -signal.SIGTERM and "--kill_random_test=" in " ".join(command))
        base.with_suffix(".out").write_text(out)
        base.with_suffix(".err").write_text(err)
        said = output.read(out, err)
        self.event(run=self.count, killed=killed, status=status, seconds=self.script.time.time() - before,
                   opened=said.opened, recovered=said.recovered, verified=said.verified, operations=said.operations)
        if not killed and status != 0:
            self.fail(f"run {self.count}: db_stress ended with status {status}: {said.complaint or said.last_line}")
        if said.complaint:
            self.fail(f"run {self.count}: {said.complaint or said.last_line}")
        self.between_runs()
        return late, status, out, err

    def between_runs(self):
        if self.settings["forget"]:
            for path in pathlib.Path(self.settings["forget"]).iterdir():
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()
        if self.settings["power_cut"]:
            self.cut_power()
        done = subprocess.run(self.settings["check"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            (self.logs / f"{self.count:04}.check").write_text(done.stdout + done.stderr)
            self.fail(f"zenfs check after run {self.count}: exit status {done.returncode}")

    def cut_power(self):
        command = [*self.settings["power_cut"], f"--seed={self.cut_seeds.getrandbits(32)}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.fail(f"zenfs emu power-cut after run {self.count}: {done.stderr.strip()}")
        lost = json.loads(done.stdout)
        self.event(cut=self.count, **lost)
        print(f"power cut after run {self.count}: {lost}")

    def last_run(self):
        """The same parameters as the run before, and a number of operations that comes to an end. Without the compaction
        filter: db_stress destroys the locks that its filter tries before it closes the database."""
        command = [*self.command, f"--ops_per_thread={LAST_RUN_OPERATIONS}", "--enable_compaction_filter=0"]
        hung, *_ = self.one_run(command, LAST_RUN_SECONDS)
        if hung:
            self.fail(f"the last run was to end by itself and hung: killed after {LAST_RUN_SECONDS} s")

    def work(self):
        sys.argv = [self.settings["script"], *self.settings["arguments"]]
        self.script.main()


def main(path):
    Session(json.loads(pathlib.Path(path).read_text())).work()


if __name__ == "__main__":
    main(sys.argv[1])
