"""Packs the library, the command and the default model of ../build and ../models into the package.

What setuptools writes on the way goes to a temporary folder, not beside the sources."""
import atexit
import shutil
import sys
import tempfile
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CARRIED = {  # what is packed, from where, and whether it must be there
    "libsbeam.so": (ROOT / "build" / "libsbeam.so", True),
    "bin/sbeam": (ROOT / "build" / "sbeam", False),
    "models/enfr-everyday.safetensors": (ROOT / "models" / "enfr-everyday.safetensors", False),
}


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        for name, (source, is_needed) in CARRIED.items():
            if source.exists():
                target = Path(self.build_lib) / "sbeam" / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
            elif is_needed:
                sys.exit("sbeam: there is no %s: run scripts/build first" % source)


class PlatformWheel(bdist_wheel):
    """Any Python 3, this machine: the library is code, but no extension of Python."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


class BinaryDistribution(Distribution):
    def has_ext_modules(self):
        return True


scratch = tempfile.mkdtemp(prefix="sbeam-build-")
atexit.register(shutil.rmtree, scratch, ignore_errors=True)
setup(
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel},
    distclass=BinaryDistribution,
    options={
        "build": {"build_base": scratch},
        "bdist_wheel": {"bdist_dir": scratch + "/wheel"},
        "egg_info": {"egg_base": scratch},
    },
)
