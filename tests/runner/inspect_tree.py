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
    """Builds a program against the installed files, and checks that the library exports only its public names."""
    with tempfile.TemporaryDirectory() as folder:
        if not succeeds("meson", "install", "-C", "build", "--no-rebuild", "--quiet", DESTDIR=folder):
            return False
        installed = {path.name: path for path in Path(folder).rglob("*")}
        for name in ("sbeam.pc", "sbeam.1"):
            if name not in installed:
                print("error: not installed:", name)
                return False
        packages = installed["sbeam.pc"].parent
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "sbeam"], stdout=subprocess.PIPE, check=True, env={
            **os.environ, "PKG_CONFIG_SYSROOT_DIR": folder, "PKG_CONFIG_PATH": str(packages)}).stdout.decode().split()
        program = Path(folder) / "draw"
        return (succeeds("cc", "-std=c11", "-o", program, "examples/01_draw.c", "-lm", *flags) and
                succeeds(program, "models/fig1.json", LD_LIBRARY_PATH=str(packages.parent)) and
                any(Path(folder).rglob("bin/sbeam")) and exports_are_public())


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
