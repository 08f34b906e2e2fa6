"""The package after an installation with pip: offline, from a source tree that stays clean."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy

from support import COMMAND, HERE, MODELS, ROOT, environment, need

PROGRAM = """
import sbeam, sys
from sbeam import _library
assert sys.argv[1] in sbeam.__file__, sbeam.__file__
assert _library.find_library().startswith(sys.argv[1])
print(sbeam.draw(sys.argv[2], k=3, seed=4)[0].to_dict())
"""
AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def run(*command, **keywords):
    return subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **keywords)


def install_lines():
    """The install block of python/README.md, without the build, and every other line of the two
    pages that installs the package."""
    text = (HERE.parent / "README.md").read_text(encoding="utf-8")
    block = re.search(r"^## Install\n.*?^```sh\n(.*?)^```", text, re.M | re.S).group(1)
    assert block.startswith("scripts/build\n"), block
    yield block.split("\n", 1)[1]
    for line in ((ROOT / "README.md").read_text(encoding="utf-8") + text).splitlines():
        if re.search(r"pip install .*\./python", line) and line not in block:
            yield line


class Pip(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for module in ("venv", "ensurepip"):
            need(module)
        cls.folder = tempfile.mkdtemp(prefix="sbeam-install-")
        cls.python = Path(cls.folder) / "venv" / "bin" / "python"
        done = run(sys.executable, "-m", "venv", Path(cls.folder) / "venv")
        if done.returncode != 0:
            shutil.rmtree(cls.folder)
            raise unittest.SkipTest("there are no virtual environments here: " + done.stdout[-200:])
        # Building needs neither of them. Python before 3.12 puts setuptools into every environment.
        run(cls.python, "-m", "pip", "uninstall", "--yes", "setuptools", "wheel")
        # A tree of its own with the files that packaging reads, to see what it leaves behind.
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

    @staticmethod
    def clean_environment(**variables):
        """Without the source tree, and with the NumPy of these tests."""
        clean = {key: value for key, value in os.environ.items()
                 if key not in ("PYTHONPATH", "SBEAM_LIBRARY", "PYTHONDONTWRITEBYTECODE")}
        return dict(clean, PYTHONPATH=str(Path(numpy.__file__).parent.parent), **variables)

    def pip(self, tree, *options):
        return run(self.python, "-m", "pip", "install", "--no-index", "--force-reinstall",
                   "--no-deps", *options, tree / "python",
                   env=dict(os.environ, PYTHONDONTWRITEBYTECODE=""))

    def list_tree(self):
        return sorted(str(path) for path in self.tree.rglob("*"))

    def test_install(self):
        before = self.list_tree()
        for options in ([], ["--no-build-isolation"]):
            done = self.pip(self.tree, *options)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertEqual(self.list_tree(), before)
        shutil.move(self.tree, str(self.tree) + "-elsewhere")  # the package does not need it
        try:
            self.check_installed()
        finally:
            shutil.move(str(self.tree) + "-elsewhere", self.tree)

    def check_installed(self):
        clean = self.clean_environment()
        done = run(self.python, "-c", PROGRAM, self.folder, MODELS / "weather.json", cwd="/",
                   env=clean)
        self.assertEqual(done.returncode, 0, done.stdout)
        # sbeam.hf is there; it needs Transformers to be imported.
        inner = run(self.python, "-c", "import pathlib, sbeam; raise SystemExit(not (pathlib.Path("
                    "sbeam.__file__).parent / 'hf' / '_search.py').exists())", cwd="/", env=clean)
        self.assertEqual(inner.returncode, 0, inner.stdout)
        here = run(sys.executable, "-c", PROGRAM, ROOT, MODELS / "weather.json", env=environment())
        self.assertEqual(done.stdout, here.stdout)
        # The command, and the default model beside it.
        for arguments in (["--version"], ["draw", "-m", MODELS / "weather.json", "--seed=1"],
                          ["info"], ["no-such"]):
            found = run(self.python, "-m", "sbeam", *arguments, cwd="/", env=clean)
            expected = run(COMMAND, *arguments, cwd="/", env=clean)
            self.assertEqual((found.returncode, found.stdout),
                             (expected.returncode, expected.stdout))

    def test_lines_of_the_pages(self):
        """They work as they are written, with this Python as python3. The dependencies are left
        out, because the tests are offline."""
        folder = Path(self.folder) / "path"
        folder.mkdir()
        (folder / "python3").symlink_to(sys.executable)
        env = self.clean_environment(PIP_NO_INDEX="1", PIP_NO_DEPS="1")
        env["PATH"] = "%s:%s" % (folder, env["PATH"])
        for number, lines in enumerate(install_lines()):
            tree = Path(self.folder) / ("lines%d" % number)
            shutil.copytree(self.tree, tree)
            before = set(tree.iterdir())
            done = run("bash", "-euc", lines, cwd=tree, env=env)
            self.assertEqual(done.returncode, 0, done.stdout)
            [made] = set(tree.iterdir()) - before
            self.assertIn("/%s/" % made.name, (ROOT / ".gitignore").read_text().splitlines())
            done = run(made / "bin" / "python", "-c", PROGRAM, made, MODELS / "weather.json",
                       cwd="/", env=env)
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_editable(self):
        done = self.pip(self.tree, "--editable")
        self.assertEqual(done.returncode, 0, done.stdout)
        done = run(self.python, "-c", PROGRAM, self.tree, MODELS / "weather.json", cwd="/",
                   env=self.clean_environment())
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_without_a_build(self):
        bare = Path(self.folder) / "bare"
        shutil.copytree(self.tree / "python", bare / "python")
        done = self.pip(bare)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("run scripts/build first", done.stdout)

    def test_read_only_tree(self):
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("needs root, to run as a user who may not write")
        os.chmod(self.folder, 0o755)
        # setpriv finds a program with the rights of root; the shell finds it as the other user.
        for python in (self.python, "/usr/bin/python3"):
            if run(*AS_NOBODY, "sh", "-c", '"$0" -c "import pip"', python, cwd="/").returncode == 0:
                break
        else:
            self.skipTest("other users may not run %s" % sys.executable)
        target = Path(self.folder) / "target"
        target.mkdir(exist_ok=True)
        os.chmod(target, 0o777)
        done = run(*AS_NOBODY, python, "-m", "pip", "install", "--no-index", "--no-deps",
                   "--no-cache-dir", "--target", target, self.tree / "python", cwd="/",
                   env=dict(os.environ, HOME=str(target)))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertTrue((target / "sbeam" / "libsbeam.so").exists())

    def test_installed_before_llama(self):
        done = self.pip(self.tree)
        self.assertEqual(done.returncode, 0, done.stdout)
        path = Path(self.folder) / "empty.gguf"
        path.write_bytes(b"GGUF\3\0\0\0")
        done = run(self.python, "-c", "import sbeam; sbeam.Model(%r)" % str(path), cwd="/",
                   env=self.clean_environment())
        if "built without llama.cpp" not in done.stdout:
            self.skipTest("this build has llama.cpp")
        self.assertIn("install the package again: pip install ./python", done.stdout)


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
            self.assertIn("correct or unset the environment variable SBEAM_LIBRARY", done.stdout)
            done = self.load(package, SBEAM_LIBRARY="libc.so.6")
            self.assertIn("ImportError: sbeam: libc.so.6 has no sb_version", done.stdout)
            path = package / "sbeam" / "_library.py"
            path.write_text(path.read_text().replace('__version__ = "0.', '__version__ = "9.'))
            shutil.copy(ROOT / "build" / "libsbeam.so", package / "sbeam")
            done = self.load(package)
            self.assertRegex(done.stdout, "ImportError: .*is version 0.*is for version 9")
            self.assertIn("install the package again: pip install ./python", done.stdout)
            (package / "sbeam" / "libsbeam.so").unlink()
            (Path(folder) / "build").mkdir()
            shutil.copy(ROOT / "build" / "libsbeam.so", Path(folder) / "build")
            self.assertRegex(self.load(package).stdout, "is for version 9.*; run scripts/build\n")


if __name__ == "__main__":
    unittest.main()
