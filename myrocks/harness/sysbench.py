"""sysbench against a private server."""
import dataclasses
import re
import subprocess

from tooling.places import ToolError


@dataclasses.dataclass(frozen=True)
class Size:
    tables: int = 4
    rows: int = 25000
    threads: int = 4
    seconds: int = 5


@dataclasses.dataclass(frozen=True)
class Figures:
    """What a run printed: transactions, and latencies in milliseconds."""
    transactions: int
    per_second: float
    latency_95: float
    errors: int


def command(server, workload, size, action, *more):
    return ["sysbench", workload, "--db-driver=mysql", f"--mysql-socket={server.socket}", "--mysql-user=root",
            "--mysql-db=sbtest", "--mysql-storage-engine=rocksdb", f"--tables={size.tables}",
            f"--table-size={size.rows}", f"--threads={size.threads}", "--create_secondary=off", *more, action]


def run(words, log):
    with open(log, "wb") as sink:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT,
                                   process_group=0)
    try:
        status = process.wait()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    text = log.read_text(errors="replace")
    if status != 0:
        fatal = [line for line in text.splitlines() if "FATAL" in line] or text.splitlines()[-1:] or ["no output"]
        raise ToolError(f"sysbench failed: {fatal[0].strip()}; all it said is in {log}")
    return text


def prepare(server, size, workload="oltp_write_only"):
    server.query("CREATE DATABASE IF NOT EXISTS sbtest")
    run(command(server, workload, size, "prepare"), server.directory / "sysbench-prepare.log")


def number(pattern, text, log):
    found = re.search(pattern, text)
    if not found:
        raise ToolError(f"sysbench printed no {pattern}; see {log}")
    return float(found[1])


def measure(server, workload, size, *more):
    """One run of `size.seconds`."""
    log = server.directory / f"sysbench-{workload}.log"
    text = run(command(server, workload, size, "run", f"--time={size.seconds}", *more), log)
    return Figures(transactions=int(number(r"transactions: +(\d+)", text, log)),
                   per_second=number(r"transactions: +\d+ +\(([\d.]+) per sec", text, log),
                   latency_95=number(r"95th percentile: +([\d.]+)", text, log),
                   errors=int(number(r"ignored errors: +(\d+)", text, log)))
