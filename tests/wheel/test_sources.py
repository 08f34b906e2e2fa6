"""Installations that build the package: from the source distribution, from a source tree, and for developers."""
import re
import shutil
import tempfile
import unittest
from pathlib import Path

from places import ROOT, SDIST, copy_sources, make_venv, run
from test_environments import PRINTED, PROGRAM

PAGES = ("README.md", "python/README.md", "doc/install.md")
INSTALL = ["python3 -m venv venv", "venv/bin/pip install ."]


def install_lines(page):
    """Returns the commands of a page that make an environment and install the package from the source tree."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [line.strip() for line in re.split("\n|`| && ", text)
            if re.search(r"(python3 -m venv|pip install)(?! sbeam| -).* (venv|\.)$", line)]


class Building(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="sbeam-sources-"))
        self.addCleanup(shutil.rmtree, str(self.folder))

    def check_package(self, python, place):
        done = run(python, "-c", PROGRAM, place)
        self.assertEqual((done.returncode, done.stdout.partition("\n")[2]), (0, PRINTED), done.stdout)

    def test_source_distribution(self):
        """It builds in an environment of its own, which pip makes."""
        python = make_venv(self.folder / "venv")
        done = run(python, "-m", "pip", "install", SDIST)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:])
        self.check_package(python, self.folder / "venv")

    def test_names_what_is_missing(self):
        """One sentence says what to install."""
        python = make_venv(self.folder / "venv")
        programs = self.folder / "programs"
        programs.mkdir()
        for names, variables, expected in (
                ([], {}, "apt-get install gcc g++ pkg-config librandom123-dev zlib1g-dev libsentencepiece-dev "
                         "libutf8proc-dev\n"),
                (["cc", "as", "ld", "ar"], {"PKG_CONFIG_LIBDIR": "/nowhere"},
                 "apt-get install pkg-config libsentencepiece-dev libutf8proc-dev\n"),
                (["pkg-config"], {}, "apt-get install g++\n")):
            for name in names:
                (programs / name).symlink_to(shutil.which(name))
            done = run(python, "-m", "pip", "install", "--no-deps", SDIST, PATH=str(programs), **variables)
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stdout, "ERROR: Problem encountered: sbeam needs [^\n]*on Debian, " + re.escape(expected))

    def test_lines_of_the_pages(self):
        """They work as they are written, and write nothing into the tree that git would show."""
        for page in PAGES:
            self.assertEqual(install_lines(page), INSTALL, page)
        tree = self.folder / "tree"
        tree.mkdir()
        copy_sources(tree)
        before = {path.name for path in tree.iterdir()}
        done = run("bash", "-euc", "\n".join(INSTALL), cwd=tree)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:])
        self.assertEqual({path.name for path in tree.iterdir()} - before, {"venv"})
        tree.rename(self.folder / "tree-elsewhere")
        moved = self.folder / "tree-elsewhere" / "venv"
        self.check_package(moved / "bin" / "python3", moved)

    def test_editable(self):
        """For developers: the package is that of the source tree, and its library is built again if sources change."""
        tree = self.folder / "tree"
        tree.mkdir()
        copy_sources(tree)
        python = make_venv(self.folder / "venv")
        done = run(python, "-m", "pip", "install", "meson-python", "ninja", "numpy")
        self.assertEqual(done.returncode, 0, done.stdout)
        done = run(python, "-m", "pip", "install", "--no-build-isolation", "-e", tree, PATH="%s/venv/bin:/usr/bin:/bin" % self.folder)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:])
        program = "import sbeam; print(sbeam.__file__, sbeam._library.find_library(), sbeam._library.lib.sb_version())"
        done = run(python, "-c", program)
        self.assertRegex(done.stdout, r"^%s/python/sbeam/__init__.py %s/build/cp\d+/libsbeam.so" % (tree, tree))
        version = tree / "src" / "base" / "version.c"
        version.write_text(re.sub(r"return (.*);", r'return \1 "-changed";', version.read_text()))
        self.assertIn("-changed", run(python, "-c", program).stdout)
