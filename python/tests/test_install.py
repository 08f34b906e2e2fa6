"""The package as it is installed: with pip, offline, from a tree that stays clean."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import COMMAND, MODELS, ROOT, environment, need

PROGRAM = """
import sbeam, sys
from sbeam import _library
assert sys.argv[1] in sbeam.__file__, sbeam.__file__
assert _library.find_library().startswith(sys.argv[1])
print(sbeam.draw(sys.argv[2], k=3, seed=4)[0].to_dict())
"""


def run(*command, **keywords):
    return subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **keywords)


class Pip(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for module in ("venv", "ensurepip", "setuptools", "wheel"):
            need(module)
        cls.folder = tempfile.mkdtemp(prefix="sbeam-install-")
        cls.python = Path(cls.folder) / "venv" / "bin" / "python"
        done = run(sys.executable, "-m", "venv", "--system-site-packages",
                   Path(cls.folder) / "venv")
        if done.returncode != 0:
            shutil.rmtree(cls.folder)
            raise unittest.SkipTest("there are no virtual environments here: " + done.stdout[-200:])
        # A tree of its own with what packaging reads, to see what it leaves behind.
        cls.tree = Path(cls.folder) / "tree"
        shutil.copytree(ROOT / "python", cls.tree / "python",
                        ignore=shutil.ignore_patterns("__pycache__"))
        (cls.tree / "build").mkdir()
        for name in ("libsbeam.so", "sbeam"):
            shutil.copy(ROOT / "build" / name, cls.tree / "build" / name)
        (cls.tree / "models").mkdir()
        shutil.copy(MODELS / "enfr-everyday.safetensors", cls.tree / "models")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def pip(self, tree, **keywords):
        return run(self.python, "-m", "pip", "install", "--no-build-isolation", "--no-index",
                   "--force-reinstall", "--no-deps", tree / "python", **keywords)

    def list_tree(self):
        return sorted(str(path) for path in self.tree.rglob("*"))

    def test_install(self):
        before = self.list_tree()
        done = self.pip(self.tree)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.list_tree(), before)
        shutil.move(self.tree, str(self.tree) + "-elsewhere")  # the package needs it no more
        try:
            self.check_installed()
        finally:
            shutil.move(str(self.tree) + "-elsewhere", self.tree)

    def check_installed(self):
        clean = {key: value for key, value in os.environ.items()
                 if key not in ("PYTHONPATH", "SBEAM_LIBRARY")}
        done = run(self.python, "-c", PROGRAM, self.folder, MODELS / "weather.json", cwd="/",
                   env=clean)
        self.assertEqual(done.returncode, 0, done.stdout)
        here = run(sys.executable, "-c", PROGRAM, ROOT, MODELS / "weather.json", env=environment())
        self.assertEqual(done.stdout, here.stdout)
        # The command, and the default model beside it.
        for arguments in (["--version"], ["draw", "-m", MODELS / "weather.json", "--seed=1"],
                          ["info"], ["no-such"]):
            found = run(self.python, "-m", "sbeam", *arguments, cwd="/", env=clean)
            expected = run(COMMAND, *arguments, cwd="/", env=clean)
            self.assertEqual((found.returncode, found.stdout),
                             (expected.returncode, expected.stdout))

    def test_without_a_build(self):
        bare = Path(self.folder) / "bare"
        shutil.copytree(self.tree / "python", bare / "python")
        done = self.pip(bare)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("run scripts/build first", done.stdout)

    def test_read_only_tree(self):
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("needs root, to become somebody who may not write")
        os.chmod(self.folder, 0o755)
        target = Path(self.folder) / "target"
        target.mkdir(exist_ok=True)
        os.chmod(target, 0o777)
        done = run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", self.python, "-m",
                   "pip", "install", "--no-build-isolation", "--no-index", "--no-deps",
                   "--no-cache-dir", "--target", target, self.tree / "python", cwd="/",
                   env=dict(os.environ, HOME=str(target)))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertTrue((target / "sbeam" / "libsbeam.so").exists())


class Loading(unittest.TestCase):
    def load(self, folder, **variables):
        env = dict(os.environ, PYTHONPATH=str(folder), **variables)
        if "SBEAM_LIBRARY" not in variables:
            env.pop("SBEAM_LIBRARY", None)
        return run(sys.executable, "-c", "import sbeam; print(sbeam._library.find_library())",
                   cwd="/", env=env)

    def test_order(self):
        self.assertEqual(self.load(ROOT / "python").stdout.strip(),
                         str(ROOT / "build" / "libsbeam.so"))
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "mine.so"
            shutil.copy(ROOT / "build" / "libsbeam.so", copy)
            self.assertEqual(self.load(ROOT / "python", SBEAM_LIBRARY=str(copy)).stdout.strip(),
                             str(copy))

    def test_refusals(self):
        with tempfile.TemporaryDirectory() as folder:
            package = Path(folder) / "python"
            shutil.copytree(ROOT / "python" / "sbeam", package / "sbeam")
            done = self.load(package)
            self.assertIn("ImportError", done.stdout)
            self.assertIn("run scripts/build first", done.stdout)
            done = self.load(package, SBEAM_LIBRARY="/no/such/libsbeam.so")
            self.assertIn("ImportError: sbeam: the library cannot be loaded", done.stdout)
            done = self.load(package, SBEAM_LIBRARY="libc.so.6")
            self.assertIn("ImportError: sbeam: libc.so.6 has no sb_version", done.stdout)
            path = package / "sbeam" / "_library.py"
            path.write_text(path.read_text().replace('__version__ = "0.', '__version__ = "9.'))
            shutil.copy(ROOT / "build" / "libsbeam.so", package / "sbeam")
            done = self.load(package)
            self.assertRegex(done.stdout, "ImportError: .*is version 0.*is for version 9")


if __name__ == "__main__":
    unittest.main()
