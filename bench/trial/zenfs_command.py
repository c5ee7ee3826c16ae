"""Calls of the command zenfs."""
import json
import subprocess

from tooling.places import ToolError



class Zenfs:
    def __init__(self, program):
        self.program = str(program)

    def __call__(self, *words):
        try:
            done = subprocess.run([self.program, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=120, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ToolError(f"zenfs {words[0]}: {error}") from error
        if done.returncode != 0:
            raise ToolError((done.stderr.strip() or done.stdout.strip()).splitlines()[-1])
        return done.stdout

    def json(self, *words):
        return json.loads(self(*words, "--json"))

    def counters(self, page):
        """The metrics_file of a mount that has ended."""
        return self.json("stats", f"--page={page}")

    def used_bytes(self, uri):
        """(written bytes of all zones, live or dead; unwritten bytes that other files can't use)"""
        written = sum(zone["written"] for zone in self.json("zones", f"--uri={uri}")["zones"])
        space = self.json("df", f"--uri={uri}")
        taken = space["total_bytes"] - space["free_bytes"] - space["lost_bytes"]
        return written, max(0, taken - written)


# The causes of writes, in the order of the output.
CAUSES = ("data", "wal", "padding", "metadata", "reclaim", "finish", "host")


def bytes_by_cause(counters):
    """`finish`: bytes that a drive may write to fill a zone; ZenFS has written all others."""
    values = counters["values"]
    padding = values["data_padding_bytes_total"]
    return {"data": values["data_bytes_total"] - padding,
            "wal": values["wal_bytes_total"],
            "padding": padding + values["wal_padding_bytes_total"],
            "metadata": values["metadata_bytes_total"],
            "reclaim": values["folded_bytes_total"] + values["reclaimed_bytes_total"],
            "finish": values["finished_bytes_total"]}
