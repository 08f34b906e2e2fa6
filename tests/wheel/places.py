"""Shared by the tests: the files under test, and virtual environments without a network."""
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DIST = Path(os.environ["SBEAM_DIST"])
FILES = Path(os.environ["SBEAM_WHEEL_FILES"])
[WHEEL] = DIST.glob("sbeam-*.whl")
[SDIST] = DIST.glob("sbeam-*.tar.gz")

# Variables that would lead to the source tree, to another wheel or to another Python.
LEFT_OUT = ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH")


def clean_environment(**variables):
    """Returns variables for pip and for programs. pip takes only the files of FILES."""
    kept = {name: value for name, value in os.environ.items()
            if name not in LEFT_OUT and not name.startswith(("SBEAM_", "PIP_", "MESON"))}
    return {**kept, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(FILES), "PIP_CONFIG_FILE": os.devnull,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1", "LC_ALL": "C.UTF-8", **variables}


def run(*command, cwd="/", **variables):
    """Runs a command and returns what came of it; stdout holds both outputs."""
    return subprocess.run([str(word) for word in command], cwd=str(cwd), env=clean_environment(**variables),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          encoding="utf-8", check=False)


def make_venv(folder):
    """Makes a virtual environment and returns its Python."""
    done = run(sys.executable, "-m", "venv", folder)
    assert done.returncode == 0, done.stdout
    return Path(folder) / "bin" / "python"


def copy_sources(folder):
    """Copies the files that git knows, as they are now."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=str(ROOT), stdout=subprocess.PIPE, check=True).stdout
    subprocess.run("tar -c --null -T - --ignore-failed-read 2>/dev/null | tar -x -C '%s'" % folder, shell=True,
                   cwd=str(ROOT), input=names, check=True)
