"""The wheel in fresh virtual environments, away from the source tree."""
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

from places import ROOT, WHEEL, make_venv, run

PROGRAM = """
import sbeam, sys
from sbeam import _library
assert sbeam.__file__.startswith(sys.argv[1]), sbeam.__file__
assert _library.find_library().startswith(sys.argv[1]), _library.find_library()
assert _library.find_command().startswith(sys.argv[1]), _library.find_command()
print(sbeam.__version__)
print([s.text for s in sbeam.draw(sbeam.shipped_model("weather.json"), k=3, seed=1)[0]])
print(sbeam.draw(inputs=["Where is the train station?"], k=1, seed=1, temperature=0.3)[0][0].text)
"""
PRINTED = "['cloud', 'rain', 'sun cloud rain']\nOù est la gare ?\n"


EMPTY = {"share", "share/man"}  # pip does not remove folders that may belong to several packages


def list_paths(folder):
    """Returns the files and folders of an environment, except compiled files of other packages."""
    names = {str(path.relative_to(folder)) for path in Path(folder).rglob("*")}
    return {name for name in names if "__pycache__" not in name or "sbeam" in name}


class Environment(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="sbeam-wheel-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.venv = Path(self.folder) / "venv"
        self.python = make_venv(self.venv)

    def install(self, *arguments):
        done = run(self.python, "-m", "pip", "install", *arguments)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_everything(self):
        """One environment: the package and the command work, and nothing is left of them afterwards."""
        self.install("numpy")
        before = list_paths(self.venv)
        self.install(WHEEL)
        done = run(self.python, "-c", PROGRAM, self.venv)
        version, _, printed = done.stdout.partition("\n")
        self.assertEqual((done.returncode, printed), (0, PRINTED), done.stdout)

        command = self.venv / "bin" / "sbeam"
        self.assertTrue(run(command, "--version").stdout.startswith("sbeam %s " % version))
        drawn = run("sh", "-c", "sbeam draw -k 1 -T 0.3 --seed 1 'Where is the train station?'",
                    PATH="%s/bin:/usr/bin:/bin" % self.venv)
        self.assertIn("Où est la gare ?", drawn.stdout)
        self.assertEqual(run(self.python, "-m", "sbeam", "--version").stdout, run(command, "--version").stdout)

        done = run(self.python, "-m", "pip", "uninstall", "--yes", "sbeam")
        self.assertEqual(done.returncode, 0, done.stdout)
        left = list_paths(self.venv) - before
        self.assertEqual(left - EMPTY, set())
        self.assertTrue(all((self.venv / name).is_dir() for name in left))

    def test_suite(self):
        """The tests of the package, against the installed one."""
        self.install(WHEEL)
        tests = ROOT / "python" / "tests"
        names = sorted(path.stem for path in tests.glob("test_*.py") if path.stem != "test_install")
        done = run(self.python, tests / "run_tests.py", *names, SBEAM_TEST_INSTALLED="1")
        lines = done.stdout.splitlines()
        failed = [line for line in lines if line.startswith(("not ok", "#"))]
        self.assertEqual(done.returncode, 0, "\n".join(failed[:60] + lines[-3:]))
        self.assertGreater(int(lines[-1].split()[0]), 100, lines[-1])
        print("the suite, against the wheel: " + lines[-1], flush=True)

    def test_target_folder(self):
        """pip install --target puts all parts below one folder."""
        target = Path(self.folder) / "target"
        self.install("--target", target, WHEEL)
        done = run(self.python, "-c", PROGRAM, target, PYTHONPATH=str(target))
        self.assertEqual((done.returncode, done.stdout.partition("\n")[2]), (0, PRINTED), done.stdout)

    def test_moved_library(self):
        """A damaged installation says what to do."""
        self.install(WHEEL)
        [library] = self.venv.rglob("libsbeam.so")
        library.unlink()
        done = run(self.python, "-c", "import sbeam")
        self.assertRegex(done.stdout, "ImportError: sbeam: .*libsbeam.so does not exist: install the package again")


if __name__ == "__main__":
    sys.exit("run scripts/wheel")
