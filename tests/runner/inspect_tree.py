"""Inspects the source tree and the installed files: inspect_tree.py text | format | install | refusals

Runs in the root of the tree, prints what is wrong, and exits 1 if anything is."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

C_FOLDERS = ("src", "include", "apps", "examples", "bench", "tests")
OTHER_FOLDERS = ("scripts", ".ci", "doc", "models", "tests", "bench", "tools", "train", "experiments", "python")
NOT_TEXT = re.compile(r"/corpus/|^tests/data/|/results/|/__pycache__/|/\.work/|\.safetensors$|\.svg$")


def files_below(folders):
    return sorted(path for folder in folders for path in Path(folder).rglob("*") if path.is_file())


def c_sources():
    return [path for path in files_below(C_FOLDERS) if path.suffix in (".c", ".h", ".cc")]


def texts():
    """All files that people write: C, scripts, pages."""
    others = [path for path in files_below(OTHER_FOLDERS) if not NOT_TEXT.search(str(path))]
    top = [path for path in sorted(Path(".").iterdir()) if path.suffix in (".md", ".build") or path.name == "sbeam.1"]
    return sorted({*c_sources(), *others, *top})


def bad_blanks(path):
    """Yields a line for each tab in C, and for each line that ends in blanks."""
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if b"\t" in line and path.suffix in (".c", ".h", ".cc"):
            yield "%s:%d: error: a tab" % (path, number)
        if line.endswith((b" ", b"\t")):
            yield "%s:%d: error: blanks at the end of a line" % (path, number)


def check_text():
    problems = [problem for path in texts() for problem in bad_blanks(path)]
    print("\n".join(problems))
    return not problems


def succeeds(*command, **environment):
    print("+", *command, flush=True)
    done = subprocess.run([str(word) for word in command], env={**os.environ, **environment}, check=False)
    return done.returncode == 0


def check_format():
    return succeeds("clang-format", "--dry-run", "-Werror", *c_sources())


def check_refusals():
    """Checks that the checks fail on things that were broken on purpose."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        (tree / "src/base").mkdir(parents=True)
        (tree / "include/sbeam").mkdir(parents=True)
        (tree / "src/base/upwards.c").write_text('#include "model/arpa.h"\n')
        (tree / "include/sbeam/broken.h").write_text("size_t not_alone(void);\n")
        return not (succeeds("tests/check_includes", tree) or succeeds("tests/check_headers", tree) or
                    succeeds("tests/cli/run", "/bin/false", "."))


def check_install():
    """Builds programs against the installed library and against the core, and checks what they export."""
    with tempfile.TemporaryDirectory() as folder:
        core = Path(folder) / "core-build"
        return (check_prefix("build", Path(folder) / "all", "sbeam", "01_draw", "models/fig1.json") and
                succeeds("meson", "setup", core, "-Dcore_only=true", PKG_CONFIG_LIBDIR="/nowhere") and
                succeeds("ninja", "-C", core) and
                check_prefix(core, Path(folder) / "core", "sbeam-core", "04_steps") and exports_are_public())


def check_prefix(build, folder, name, example, *arguments):
    """Installs a build, moves the installation, and runs an example with its shared and its static library."""
    if not succeeds("meson", "install", "-C", build, "--no-rebuild", "--quiet", DESTDIR=str(folder / "first")):
        return False
    # The prefix below DESTDIR, such as usr/local, is the folder above include.
    [headers] = (folder / "first").rglob("include")
    prefix = folder / "moved"
    headers.parent.rename(prefix)
    [packages] = prefix.rglob("pkgconfig")
    libraries = packages.parent
    wanted = [packages / (name + ".pc"), libraries / ("lib%s.so" % name)]
    wanted += [prefix / "share/man/man1/sbeam.1", prefix / "share/sbeam/weather.json"] if name == "sbeam" else []
    for path in wanted:
        if not path.exists():
            print("error: not installed:", path)
            return False
    shared = Path(folder) / "shared"
    static = Path(folder) / "static"
    compiler = ["cc", "-std=c11", "examples/%s.c" % example]
    return (succeeds(*compiler, "-o", shared, *flags(name, prefix, packages), "-lm") and
            succeeds(shared, *arguments, LD_LIBRARY_PATH=str(libraries)) and needs_soname(shared, name) and
            succeeds(*compiler, "-o", static, *use_archive(flags(name, prefix, packages, "--static"), name, libraries),
                     "-lm") and
            succeeds(static, *arguments) and not needs_soname(static, name) and
            (name != "sbeam" or succeeds(prefix / "bin/sbeam", "draw", "-k", "1", "Good morning.")))


def flags(name, prefix, packages, *options):
    """Returns what pkg-config says if the prefix has moved."""
    done = subprocess.run(["pkg-config", "--define-variable=prefix=%s" % prefix, *options, "--cflags", "--libs", name],
                          stdout=subprocess.PIPE, check=True, env={**os.environ, "PKG_CONFIG_PATH": str(packages)})
    return done.stdout.decode().split()


def use_archive(words, name, libraries):
    """Replaces -lNAME by the static library, because a linker prefers the shared one."""
    return [str(libraries / ("lib%s.a" % name)) if word == "-l" + name else word for word in words]


def needs_soname(program, name):
    done = subprocess.run(["readelf", "-d", str(program)], stdout=subprocess.PIPE, check=True)
    return bool(re.search(r"NEEDED.*\[lib%s\.so\.\d+\.\d+\]" % re.escape(name), done.stdout.decode()))


def exports_are_public():
    listed = subprocess.run(["nm", "-D", "--defined-only", "build/libsbeam.so"], stdout=subprocess.PIPE, check=True)
    names = [line.split()[2] for line in listed.stdout.decode().splitlines()]
    private = [name for name in names if not name.startswith("sb_")]
    for name in private:
        print("error: exported:", name)
    return bool(names) and not private


if __name__ == "__main__":
    checks = {"text": check_text, "format": check_format, "install": check_install, "refusals": check_refusals}
    sys.exit(0 if checks[sys.argv[1]]() else 1)
