"""MariaDB's own tests of the engine."""
from harness.case import case, expect
from harness.mariadb_test import read_list, run


@case()
def tests_of_mariadb_pass(kit):
    """the tests of the suite rocksdb in myrocks/mtr/passing.txt"""
    tests = read_list("passing.txt")
    expect(len(tests) >= 60, f"only {len(tests)} tests are chosen")
    both = tests.keys() & read_list("unable.txt").keys()
    expect(not both, f"myrocks/mtr/unable.txt names what passes: {', '.join(both)}")
    found = run(kit.programs, kit.directory, tests)
    failed = sorted(test for test in tests if found.get(test) != "pass")
    print(f"    {len(tests) - len(failed)} of {len(tests)} pass")
    expect(not failed, f"these do not pass: {', '.join(f'{test} ({found.get(test)})' for test in failed)}")
