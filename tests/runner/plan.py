"""The parts of the check, in order. doc/testing.md says what each tier runs and why."""
import os
import platform
import subprocess
import sys
from pathlib import Path

from check import Part, read
from counting import count_lines, count_meson, count_summary, count_unittest
from probe import why_not

SHARE = "0.1"  # of the draws under sanitizers, except with --full
FUZZ_RUNS = 30000  # the seeds and a fixed number of runs, the same each time
FUZZ_FOLDER = "build-fuzz"
FUZZ_NEEDS = {"gguf": "llama.cpp", "pieces": "SentencePiece"}  # harnesses that are built only with these
ASAN = {"UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1"}
ASAN_WITHOUT_LEAKS = {**ASAN, "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"}
STILL = ("setarch", platform.machine(), "-R")  # without address randomisation, if that is allowed


# --- kinds of parts ---


def build(name, folder, *options, env=None):
    return Part(name, ["scripts/build", folder, *options], Path(folder) / "check-build.log", env=env)


def inspect(name, check):
    """A part that calls a function of inspect_tree.py."""
    return Part(name, [sys.executable, "tests/runner/inspect_tree.py", check], "build/check-%s.log" % check)


def unit_tests(name, folder, suite=None, wrapper=(), env=None):
    command = ["meson", "test", "-C", folder, "--no-rebuild"]
    command += ["--suite", suite] if suite else []
    command += ["--wrapper", " ".join(wrapper)] if wrapper else []
    return Part(name, command, Path(folder) / "check-unit.log", count_meson, env,
                results=(Path(folder) / "meson-logs", "testlog*.json"))


def command_line(name, folder, wrapper=(), env=None):
    return Part(name, [*wrapper, "tests/cli/run", Path(folder) / "sbeam", "."], Path(folder) / "check-cli.log",
                count_lines, env)


def python_tests(name, folder, *arguments, env=None):
    return Part(name, ["python/tests/run", *arguments], Path(folder) / "check-python.log", count_summary, env)


# --- the tiers ---


def run_plan(check, tier):
    """Runs the parts of a tier: quick, plain or full."""
    os.environ["LC_ALL"] = "C.UTF-8"
    os.environ.pop("SBEAM_TEST_SHARE", None)  # the tier decides the number of draws
    first = build("build", "build", "-Dtests=enabled", "-Dwerror=true")
    if not check.run(first):
        sys.stderr.write(read(first.log))
        return
    parts = [Part("includes", ["tests/check_includes", "."], "build/check-includes.log")]
    if tier != "quick":
        parts += [Part("headers", ["tests/check_headers", "."], "build/check-headers.log"),
                  inspect("tabs and blanks", "text"), inspect("clang-format", "format"), inspect("install", "install"),
                  inspect("checks can fail", "refusals")]
    parts.append(Part("this runner", [sys.executable, "-m", "unittest", "discover", "-s", "tests/runner"],
                      "build/check-runner.log", count_unittest, {"PYTHONDONTWRITEBYTECODE": "1"}))
    parts.append(Part("experiments, bench", ["tests/scripts/run"], "build/check-scripts.log", count_summary))
    check.run(*parts)
    run_conversion(check)
    check.run(unit_tests("unit tests", "build", "quick" if tier == "quick" else None))
    check.run(command_line("command line", "build"))
    check.run(Part("failing memory", ["tests/inject/run", "build/sbeam", "build/tests/inject.so", "."] +
                   (["--few"] if tier == "quick" else []), "build/check-inject.log", count_lines))
    outputs = Part("recorded outputs", ["tests/outputs", "check", "build/sbeam"], "build/check-outputs.log",
                   count_lines)
    if tier == "quick":
        check.run(outputs, python_tests("python", "build", "--quick"))
        return
    check.run(outputs, python_tests("python", "build"),
              Part("documentation", ["tests/check_docs", "build"], "build/check-docs.log", count_lines),
              Part("figures (quick)", ["tests/check_figures"], "build/check-figures.log", count_lines))
    check.run(Part("wheel", ["scripts/wheel", "--if-ready"], "build/check-wheel.log", count_summary))
    check.run(Part("other processors", ["tests/processors", "build"], "build/check-processors.log", count_lines))
    share = {} if tier == "full" else {"SBEAM_TEST_SHARE": SHARE}
    asan = run_address_sanitizer(check, share)
    run_thread_sanitizer(check, share)
    run_fuzzers(check, asan)


def run_conversion(check):
    """Tests the conversion of fairseq's models, and converts those in the folder that SBEAM_GOLDEN names, with their
    known answers, for the unit tests."""
    found = subprocess.run(["scripts/find-python", "numpy"], stdout=subprocess.PIPE, check=False)
    if found.returncode != 0:
        check.skip("conversion", "there is no Python with NumPy")
        return
    python = found.stdout.decode().strip()
    parts = [Part("conversion", [python, "tests/golden/test_convert.py"], "build/check-convert.log")]
    golden = os.environ.get("SBEAM_GOLDEN")
    if golden:
        parts.append(Part("fairseq's models", [python, "tests/golden/prepare.py", golden, "build/golden"],
                          "build/check-golden.log"))
        os.environ["SBEAM_GOLDEN_PREPARED"] = str(Path("build/golden").resolve())
    check.run(*parts)


# --- sanitizers: a program of three lines shows whether they can start here ---


def run_sanitized(check, name, folder, kind, env, suite=None, wrapper=(), more=()):
    """Builds with a sanitizer; then runs unit tests and the command line, and more parts beside the latter."""
    # Warnings are not errors here: sanitizers lead gcc to false ones.
    if check.run(build(name + ": build", folder, "-Dtests=enabled", "-Dbuildtype=debugoptimized", "-Db_lundef=false",
                       "-Db_sanitize=" + kind, env=env)):
        check.run(unit_tests(name + ": tests", folder, suite, wrapper, env))
        check.run(command_line(name + ": command", folder, wrapper, env), *more)


def run_address_sanitizer(check, share):
    """Returns the sanitizer's environment, which the fuzzers use too."""
    flags, name = "-fsanitize=address,undefined", "ASan+UBSan"
    env = ASAN
    why = why_not(flags, env=env)
    if why:
        env = ASAN_WITHOUT_LEAKS
        if why_not(flags, env=env):
            check.skip(name, "the address sanitizer cannot start here: " + why_not(flags, env=env))
            return ASAN
        check.skip("leaks", "the leak sanitizer cannot start here: " + why)
    run_sanitized(check, name, "build-asan", "address,undefined", {**env, **share}, more=[python_sanitized(env)])
    return env


def python_sanitized(env):
    """Python tests with the sanitized library, for the memory that the package and the library share. Leaks are not
    reported, because an interpreter never frees everything; PyTorch is left out, because it is not our code."""
    asan = subprocess.run(["gcc", "-print-file-name=libasan.so"], stdout=subprocess.PIPE, check=False).stdout
    return python_tests("ASan: python", "build-asan", "test_cursor", "test_decoder", "test_errors", "test_numbers",
                        "test_random_arguments", "test_search", "test_swor",
                        env={**env, "ASAN_OPTIONS": ASAN_WITHOUT_LEAKS["ASAN_OPTIONS"],
                             "LD_PRELOAD": asan.decode().strip(), "SBEAM_TEST_WITHOUT": "torch,pandas",
                             "SBEAM_LIBRARY": str(Path("build-asan/libsbeam.so").resolve())})


def run_thread_sanitizer(check, share):
    env = {**share, "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:suppressions=%s" %
           Path("tests/tsan.supp").resolve()}
    for wrapper in (STILL, ()):
        why = why_not("-fsanitize=thread", wrapper, env)
        if not why:
            run_sanitized(check, "TSan", "build-tsan", "thread", env, "quick", wrapper)
            return
    check.skip("TSan", "the thread sanitizer cannot start here: " + why)


# --- fuzzers ---


def find_sanitizer():
    """Returns variables with which the address sanitizer starts here, if need be without finding leaks, or None."""
    for env in ASAN, ASAN_WITHOUT_LEAKS:
        if not why_not("-fsanitize=address,undefined", env=env):
            return env
    return None


def build_fuzzers():
    return build("fuzzers: build", FUZZ_FOLDER, "-Dfuzz=true", "-Dtests=disabled", "-Dwerror=true",
                 "-Dbuildtype=debugoptimized", "-Db_lundef=false", "-Db_sanitize=address,undefined",
                 "-Dc_args=-fsanitize=fuzzer-no-link -fno-sanitize-recover=all", env={"CC": "clang", "CXX": "clang++"})


def run_fuzzers(check, env):
    why = why_not("-fsanitize=address", env={"ASAN_OPTIONS": ""})
    if why:
        check.skip("fuzzers", "the address sanitizer cannot start here: " + why)
        return
    if not check.run(build_fuzzers()):
        return
    names = sorted(path.stem[len("fuzz_"):] for path in Path("tests/fuzz").glob("fuzz_*.c"))
    absent = [name for name in names if name in FUZZ_NEEDS and not fuzz_program(name).exists()]
    for name in absent:
        check.skip("fuzz " + name, "skipped: fuzz %s: this build is without %s" % (name, FUZZ_NEEDS[name]))
    check.run(*(fuzzer(name, env) for name in names if name not in absent))


def fuzz_program(name):
    return Path(FUZZ_FOLDER) / "tests/fuzz" / ("fuzz_" + name)


def fuzzer(name, env):
    """Runs a harness on its seeds. Inputs that it finds are kept in a folder that is empty at first."""
    found = Path(FUZZ_FOLDER) / "found" / name
    script = 'rm -rf "$1" && mkdir -p "$1" && shift && exec "$@"'
    return Part("fuzz " + name, ["sh", "-c", script, "sh", found, fuzz_program(name), "-runs=%d" % FUZZ_RUNS, "-seed=1",
                                 "-max_len=4096", "-print_final_stats=1", "-artifact_prefix=%s/" % found.parent, found,
                                 "tests/fuzz/corpus/" + name],
                "%s/check-%s.log" % (FUZZ_FOLDER, name), env=env)
