"""Which library the package loads, and what it says if there is none that fits. tests/wheel tests the
installation with pip."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import ROOT


def run(*command, **keywords):
    return subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **keywords)


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
            shutil.copy(ROOT / "meson.build", folder)
            done = self.load(package)
            self.assertRegex(done.stdout, "ImportError: .*libsbeam.so does not exist: run "
                                          "scripts/build, or name the library in")
            done = self.load(package, SBEAM_LIBRARY="/no/such/libsbeam.so")
            self.assertIn("ImportError: sbeam: the library cannot be loaded", done.stdout)
            self.assertIn("correct or unset the environment variable SBEAM_LIBRARY", done.stdout)
            done = self.load(package, SBEAM_LIBRARY="libc.so.6")
            self.assertIn("ImportError: sbeam: libc.so.6 has no sb_version", done.stdout)
            (package / "sbeam" / "_version.py").write_text('__version__ = "9.1.0"\n')
            (Path(folder) / "build").mkdir()
            shutil.copy(ROOT / "build" / "libsbeam.so", Path(folder) / "build")
            self.assertRegex(self.load(package).stdout,
                             "is version 0.*is for version 9.*; run scripts/build\n")

    def test_refusals_of_an_installed_package(self):
        with tempfile.TemporaryDirectory() as folder:
            package = Path(folder) / "sbeam"
            shutil.copytree(ROOT / "python" / "sbeam", package)
            (package / "_version.py").write_text('__version__ = "9.1.0"\n')
            self.assertRegex(self.load(folder).stdout,
                             r"does not exist: install the package again, in the source tree: "
                             r"pip install \.")
            library = Path(folder) / ".sbeam.mesonpy.libs" / "libsbeam.so"
            library.parent.mkdir()
            shutil.copy(ROOT / "build" / "libsbeam.so", library)
            self.assertRegex(self.load(folder).stdout,
                             r"is version 0.*is for version 9.*install the package again.*: "
                             r"pip install \.")


if __name__ == "__main__":
    unittest.main()
