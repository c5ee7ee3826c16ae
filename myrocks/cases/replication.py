"""MariaDB's own replication between two servers on ZenFS."""
from harness.case import case
from harness.replica import show_replication


class Told:
    """Shows the steps of the demo as lines of a test."""

    def step(self, title, _what):
        print(f"    {title}")

    def text(self, line):
        print(f"      {line}")


@case()
def a_promoted_replica_has_all_that_was_acknowledged(kit):
    """rows arrive; the replica is killed and catches up; the primary is killed, and its replica misses no row"""
    show_replication(kit, Told())
