"""The style check's own tests: every rule is shown a sample that breaks it, and a tree that breaks none."""
import pathlib
import tempfile

GOOD = {
    "CMakeLists.txt": "include(sources)\n",
    "cmake/layers.cmake": "zenfs_layer(base)\nzenfs_layer(low DEPENDS base)\nzenfs_layer(high DEPENDS base low)\n"
                          "zenfs_layer(top DEPENDS base high)\n",
    "cmake/sources.cmake": "set(X base/clock.cc low/a.cc high/b.cc high/b_test.cc low/up_test.cc)\nset(ZENFS_LINK_low zenfs_top)\nadd(tests/run_test.py)\n",
    "src/base/clock.cc": "#include <ctime>\nlong Now() { return time(nullptr); }\n",
    "src/low/a.h": "#pragma once\nint A();\n",
    "src/low/a.cc": '#include "low/a.h"\n#include "low/first.h"\n#include "low/second.h"\n// std::mutex is named in a comment, time() too\n'
                    'const char* k = "std::cout << rand()";\nint A() { return 1\'000\'000; }\n',
    "src/high/b.cc": '#include "low/a.h"\nint B() { return runtime(3) + x.time() + A(); }\n',
    "src/top/t.h": "#pragma once\nint T();\n",
    "src/low/up_test.cc": '#include "low/a.h"\n#include "top/t.h"\nint T() { return A(); }\n',
    "src/high/b_test.cc": '#include "low/a.h"\nint T() { return A(); }\n',
    "src/low/first.h": "#pragma once\n#define USE_A {\n// See docs/page.md, low/a.h, linux/fs.h and docs/NAME.md.\n"
                       "namespace zenfs {\nclass B;\nclass [[nodiscard]] A final : public B {\n  struct Own {};\n};\n"
                       "namespace inner {\nstruct C {};\n}  // namespace inner\n}  // namespace zenfs\n",
    "src/low/second.h": "#pragma once\nnamespace zenfs {\nclass A;\nclass A::Part {\n  struct Own {};\n};\nstruct C {};\n"
                        "A Make(struct A* a) {\n}\ntemplate <>\nstruct B<A> {};\nusing base::B;\n}  // namespace zenfs\n",
    "tests/run_test.py": "\"\"\"docs/page.md says more\"\"\"\n",
    "docs/page.md": "# A page\n\n[here](#a-page) and [there](../README.md) and [out](https://example.org/x)\n",
    "README.md": "# Read me\n\n[docs](docs/page.md#a-page)\n\n```\n[not a link](nowhere.md)\n```\n",
}

GOOD_NAMES = "[`A.Works`](../../src/low/a_test.cc) and [`test_b`](../../tests/run_test.py)\n"
NAMED = {
    "src/low/a_test.cc": "// D1 of docs/internals/failures.md.\nTEST(A, Works) {}\n",
    "cmake/sources.cmake": GOOD["cmake/sources.cmake"] + "set(Y low/a_test.cc)\n",
    "tests/run_test.py": "def test_b():\n    pass\n",
}

MUTATION = """import collections
Piece = collections.namedtuple("Piece", "file old")
Mutation = collections.namedtuple("Mutation", "name pieces")
MUTATIONS = (Mutation("one", [Piece("src/low/a.cc", "{}")]),)
"""

SECOND = "#pragma once\nnamespace zenfs {{\n{}\n}}\n"

# What is put into the good tree, and what a finding must then say.
BAD = [
    (NAMED | {"docs/testing/crashes.md": "[`A.Fails`](../../src/low/a_test.cc)\n"}, "a_test.cc has no test A.Fails"),
    (NAMED | {"docs/testing/crashes.md": "[`test_c`](../../tests/run_test.py)\n"}, "run_test.py has no test test_c"),
    (NAMED | {"docs/internals/failures.md": "| D1 | x | " + GOOD_NAMES}, "D2 is missing"),
    (NAMED | {"docs/internals/failures.md": "| D2 | x |\n"}, "D2 names no test"),
    (NAMED | {"docs/internals/failures.md": "| D2 | x | " + GOOD_NAMES}, "no comment above a test of D2 names it"),
    (NAMED | {"docs/internals/device-assumptions.md": "| 1 | x | " + GOOD_NAMES}, "12 is missing"),
    (NAMED | {"docs/internals/faults.md": "`src/low/a_test.cc` (W)\n| a write fails | nothing | W `A.Fails` |\n"},
     "src/low/a_test.cc has no test A.Fails"),
    (NAMED | {"docs/internals/faults.md": "`src/low/b_test.cc` (W)\n| a write fails | nothing | W `A.Works` |\n"},
     "src/low/b_test.cc has no test A.Works"),
    (NAMED | {"docs/internals/faults.md": "| a write fails | nothing | W `A.Works` |\n"}, "does not say what W is"),
    (NAMED | {"docs/internals/faults.md": "| a write fails | nothing | W |\n"}, "the row names no test"),
    ({"tests/simulation/simulator/mutations.py": MUTATION.format("int gone;")}, "it replaces is 0 times in src/low/a.cc"),
    ({"tests/simulation/simulator/mutations.py": MUTATION.format("n")}, "times in src/low/a.cc, not once"),
    ({"src/low/a.cc": "#include \"high/c.h\"\n", "src/high/c.h": "#pragma once\n"}, "low may not include high"),
    ({"src/low/a.cc": '#include "low/none.h"\n'}, "low/none.h does not exist"),
    ({"src/low/a.cc": '#include "top/t.h"\n'}, "low may not include top"),
    ({"src/high/b_test.cc": '#include "top/t.h"\n'}, "high may not include top"),
    ({"src/low/a.cc": 'auto t = Thread::Start("zenfs-a", b);\n', "docs/internals/architecture.md": "| `zenfs-b` | c |\n"},
     "the table of threads has no zenfs-a, which src/low/a.cc starts"),
    ({"docs/internals/architecture.md": "| `zenfs-b` | c |\n"}, "nobody starts the thread zenfs-b"),
    ({"docs/use/rocksdb.md": "| `wal_depth:N` | most | 8 |\n", "src/open/mount_options.h": "#pragma once\n int wal_depth = 16;\n",
      "src/low/b.h": '#pragma once\n#include "open/mount_options.h"\n', "src/low/a.cc": '#include "low/b.h"\n'},
     "says 8, and src/open/mount_options.h 16"),
    ({"docs/use/rocksdb.md": "no table\n", "src/open/mount_options.h": "#pragma once\n"}, "scripts/known_figures.py compares it"),
    ({"src/low/new.cc": "int x;\n"}, "no target builds it"),
    ({"src/low/lonely.h": "#pragma once\n"}, "nobody includes it"),
    ({"src/low/a.h": "int A();\n"}, "without #pragma once"),
    ({"src/low/second.h": SECOND.format("class A final {\n};")}, "src/low/first.h has a type A in the same namespace"),
    ({"src/low/second.h": SECOND.format('class CAPABILITY("x") A : B {\n};')}, "has a type A in the same namespace"),
    ({"src/low/second.h": SECOND.format("template <typename T>\nstruct A {\n};")}, "has a type A in the same namespace"),
    ({"src/low/second.h": SECOND.format("enum class A : int {\n};")}, "has a type A in the same namespace"),
    ({"src/low/second.h": SECOND.format("using A = int;")}, "has a type A in the same namespace"),
    ({"src/low/second.h": SECOND.format("namespace inner {\nstruct C {};\n}")}, "has a type C in the same namespace"),
    ({"tests/low/a.h": "#pragma once\n"}, "src/low/a.h has the same name"),
    ({"src/low/a.cc": "// docs/gone.md says why\n"}, "there is no docs/gone.md"),
    ({"src/low/a.cc": 'const char* k = "see docs/gone.md";\n'}, "there is no docs/gone.md"),
    ({"src/low/a.cc": "int a;  // as in low/gone.h\n"}, "there is no low/gone.h"),
    ({"src/low/a.cc": "// the files of src/gone\n"}, "there is no src/gone"),
    ({"tests/run_test.py": "# tests/gone.py\n"}, "there is no tests/gone.py"),
    ({"tests/run_test.py": '"""What tests/gone.py does not."""\n'}, "there is no tests/gone.py"),
    ({"tests/other_test.py": "pass\n"}, "ctest does not run it"),
    ({"docs/page.md": "# A page\n\n[gone](nowhere.md)\n"}, "dead link: nowhere.md"),
    ({"docs/page.md": "# A page\n\n[gone](#no-such)\n"}, "no heading #no-such"),
    ({"src/low/a.cc": "int a; \n"}, "white space at the end"),
    ({"src/low/a.cc": "\tint a;\n"}, "a tab"),
    ({"src/low/a.cc": "int a;"}, "no line end"),
    ({"src/low/a.cc": "int a;  // TODO later\n"}, "unfinished work"),
    ({"src/low/a.cc": "#include <rocksdb/db.h>\n"}, "only src/rocksdb_plugin knows RocksDB"),
    ({"src/low/a.cc": '#include "rocksdb/env.h"\n'}, "only src/rocksdb_plugin knows RocksDB"),
] + [({"src/low/a.cc": f"void F() {{ {call}; }}\n"}, advice) for call, advice in [
    ("std::mutex m", "base/mutex.h"),
    ("std::shared_mutex m", "base/mutex.h"),
    ("std::unique_lock l(m)", "base/mutex.h"),
    ("std::condition_variable c", "CondVar"),
    ("std::thread t", "base/thread.h"),
    ("std::jthread t", "base/thread.h"),
    ("std::this_thread::sleep_for(s)", "base/clock.h"),
    ("usleep(3)", "base/clock.h"),
    ("nanosleep(&a, &b)", "base/clock.h"),
    ("sleep(1)", "base/clock.h"),
    ("std::random_device d", "base/random.h"),
    ("int r = rand()", "base/random.h"),
    ("srand(1)", "base/random.h"),
    ("auto t = time(nullptr)", "base/clock.h"),
    ("auto t = std::time(nullptr)", "base/clock.h"),
    ("auto t = ::time(nullptr)", "base/clock.h"),
    ("clock_gettime(a, b)", "base/clock.h"),
    ("auto n = std::chrono::steady_clock::now()", "base/clock.h"),
    ("auto n = std::chrono::system_clock::now()", "base/clock.h"),
    ('std::getenv("HOME")', "base/environment.h"),
    ("std::cout << 1", "Console"),
    ("printf(a)", "Console"),
    ("std::fprintf(stderr, a)", "Console"),
    ("fmt::print(a)", "Console"),
    ("strcpy(a, b)", "std::string"),
    ("} Status error_; {", "name a Status for what it tells of"),
    ("} mutable Status broken_ GUARDED_BY(mutex_); {", "name a Status for what it tells of"),
    ("} Status append_error_ = {}; {", "name a Status for what it tells of"),
    ("sprintf(a, b)", "std::string"),
]]


def findings(checker, files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return checker(root).run()


def run(checker):
    failed = 0
    for line in findings(checker, GOOD):
        print(f"FAILED: a good tree has the finding {line}")
        failed += 1
    for changes, expected in BAD:
        found = findings(checker, GOOD | changes)
        if not any(expected in line for line in found):
            print(f"FAILED: {list(changes.values())[0][:60]!r} should be reported as {expected!r}, got {found}")
            failed += 1
    print(f"check-style self-test: {len(BAD) + 1 - failed} passed, {failed} failed")
    return 1 if failed else 0
