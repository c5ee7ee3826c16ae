"""The command line of scripts/rocksdb-tests."""
import argparse
import concurrent.futures
import os
import pathlib

from tooling import command
from tooling.places import ToolError
from tooling.places import build as build_zenfs
from tooling.screen import Screen

from rocksdb_suites import differences, programs, report
from rocksdb_suites.building import Builder
from rocksdb_suites.running import Runner, not_run


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="rocksdb-tests", description="Runs RocksDB's own tests on POSIX and on ZenFS, and says where they differ; "
        "docs/testing/rocksdb.md says more.")
    parser.add_argument("names", metavar="PROGRAM", nargs="*", help="only these, with or without _test")
    parser.add_argument("--quick", action="store_true", help="a selection that takes minutes")
    parser.add_argument("--list", action="store_true", help="say which programs there are, and run none")
    parser.add_argument("--build-only", action="store_true", help="build the programs, run none")
    command.add_json(parser)
    parser.add_argument("--markdown", metavar="FILE", help="also write tables of all programs and differences there")
    parser.add_argument("--posix", metavar="DIRECTORY", type=lambda text: pathlib.Path(text).resolve(),
                        help="where the tests put their files when they run on POSIX (default: /dev/shm)")
    return parser.parse_args(arguments)


def show_list(selected):
    for program in selected:
        quick = f"quick: {program.quick} of {program.parts}" if program.is_quick() else ""
        way = {"uri": "takes a URI", "default": "default Env replaced", "both": "both"}[program.way]
        print(f"{program.name:38} {way:20}  {quick}".rstrip())


def build(builder, selected, screen):
    screen.working("building libzenfs.so")
    build_zenfs("release", "zenfs_cli", "zenfs_plugin", "zenfs_default_env")
    builder.prepare()
    builder.archive()
    return build_programs(builder, selected, screen)


def build_programs(builder, selected, screen):
    """Two programs at a time, in the selection's order. Gives those that can't be built, and why: {name: text}."""
    unbuilt = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        built = [pool.submit(builder.program, program.name) for program in selected]
        for number, (program, future) in enumerate(zip(selected, built)):
            screen.working(f"building {program.name} ({number + 1} of {len(built)})")
            try:
                future.result()
            except ToolError as error:
                unbuilt[program.name] = str(error)
    return unbuilt


def run(options, screen):
    selected = programs.select(programs.all_programs(), options.names, options.quick)
    if options.list:
        show_list(selected)
        return 0
    builder = Builder(screen.working)
    unbuilt = build(builder, selected, screen)
    if options.build_only:
        for error in unbuilt.values():
            screen.line(error)
        return 1 if unbuilt else 0
    results, wanted = [], len(selected)

    def done(result):
        results.append(result)
        screen.line("\n".join([report.line(result), *report.details(result)]))
        if options.json:
            report.write_json(options.json, results, complete=len(results) == wanted)

    screen.line(report.head())
    for name, error in unbuilt.items():
        done(not_run(name, error))
    selected = [program for program in selected if program.name not in unbuilt]
    runner = Runner(builder.place, options.posix, screen, differences.listed())
    runner.run(selected, options.quick, done)
    if options.markdown:
        pathlib.Path(options.markdown).write_text(report.markdown(results))
    cases, posix, zenfs, skipped = report.total(results)
    screen.line(f"\n{len(results)} programs, {cases} cases: {posix} passed on POSIX, {zenfs} on ZenFS, {skipped} skipped by "
                f"themselves; {sum(len(result.differences) for result in results)} differences")
    failed = [result.program for result in results if report.failures(result)]
    screen.line("all as expected" if not failed else "FAILED: " + " ".join(failed))
    return 1 if failed else 0


def main(arguments):
    options = parse(arguments)
    return command.run("rocksdb-tests", lambda: run(options, Screen()))
