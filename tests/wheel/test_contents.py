"""What is in the wheel and in the source distribution, and what is not."""
import re
import subprocess
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

from places import FILES, ROOT, SDIST, WHEEL

# Every Linux with glibc has these: the C library in its parts, and that of C++.
SYSTEM = re.compile(r"(libc|libm|libdl|libpthread|libstdc\+\+|libgcc_s|ld-linux-[a-z0-9-]+)\.so\.\d+")
MOST_BYTES = 15e6  # the translation model has 12.3 MB of them
SDIST_NAMES = {"LICENSE", "PKG-INFO", "README.md", "apps", "examples", "include", "licenses", "meson.build",
               "meson_options.txt", "models", "pyproject.toml", "python", "sbeam.1", "scripts", "src"}


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with zipfile.ZipFile(WHEEL) as archive:
            cls.files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
        cls.native = {name: data for name, data in cls.files.items() if data.startswith(b"\x7fELF")}
        [cls.metadata] = [data.decode() for name, data in cls.files.items() if name.endswith("/METADATA")]

    def test_tag(self):
        self.assertRegex(WHEEL.name, r"^sbeam-[0-9.]+-py3-none-manylinux_\d+_\d+_\w+\.whl$")

    def test_package(self):
        """Every module of the package is in it, and nothing else is in the package."""
        source = ROOT / "python" / "sbeam"
        expected = {str(path.relative_to(source)) for path in source.rglob("*")
                    if path.is_file() and path.suffix in (".py", ".typed")}
        found = {name.split("/purelib/sbeam/")[1] for name in self.files if "/purelib/sbeam/" in name}
        self.assertEqual(found, expected)

    def test_native_files(self):
        names = sorted(Path(name).name for name in self.native)
        self.assertEqual(names, ["libsbeam.so", "sbeam"])

    def test_only_system_libraries(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, data in self.native.items():
                path = Path(folder) / Path(name).name
                path.write_bytes(data)
                listed = subprocess.run(["ldd", str(path)], stdout=subprocess.PIPE, check=True).stdout.decode()
                libraries = [Path(line.split()[0]).name for line in listed.splitlines() if "vdso" not in line]
                self.assertGreater(len(libraries), 2)
                for library in libraries:
                    self.assertRegex(library, "^%s$" % SYSTEM.pattern, name)
                dynamic = subprocess.run(["readelf", "-d", str(path)], stdout=subprocess.PIPE, check=True).stdout
                self.assertNotRegex(dynamic.decode(), "RPATH|RUNPATH")
                symbols = subprocess.run(["nm", str(path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
                self.assertIn(b"no symbols", symbols.stdout, "%s is not stripped" % name)

    def test_exports_only_public_names(self):
        with tempfile.NamedTemporaryFile() as file:
            [data] = [data for name, data in self.native.items() if name.endswith("libsbeam.so")]
            file.write(data)
            file.flush()
            listed = subprocess.run(["nm", "-D", "--defined-only", file.name], stdout=subprocess.PIPE, check=True)
        names = [line.split()[2] for line in listed.stdout.decode().splitlines()]
        self.assertGreater(len(names), 100)
        self.assertEqual([name for name in names if not name.startswith("sb_")], [])

    def test_no_path_of_this_machine(self):
        for place in {str(ROOT), str(Path.home()), str(FILES.parent.parent), "/tmp", "build-wheel"}:
            for name, data in self.files.items():
                self.assertNotIn(place.encode() + b"/", data, name)

    def test_models(self):
        models = {name.split("/share/sbeam/")[1] for name in self.files if "/share/sbeam/" in name}
        self.assertEqual(models, {"enfr-everyday.safetensors", "fig1.json", "greeting.json", "rhymes.arpa",
                                  "weather.json"})
        self.assertTrue(any(name.endswith("/share/man/man1/sbeam.1") for name in self.files))

    def test_size(self):
        self.assertLess(WHEEL.stat().st_size, MOST_BYTES)

    def test_licences(self):
        [expression] = re.findall("^License-Expression: (.*)$", self.metadata, re.M)
        listed = re.findall("^License-File: (.*)$", self.metadata, re.M)
        page = (ROOT / "licenses" / "README.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| [^|]* \| ([^|]*) \| \[.*\]\((.*)\) \|$", page, re.M)
        self.assertEqual(len(rows), 7)
        named = {"MIT"}
        for licences, text in rows:
            named |= {"LicenseRef-CC-BY-2.0-FR" if name == "CC BY 2.0 FR" else name for name in licences.split(", ")}
            self.assertIn("licenses/" + text, listed)
        self.assertEqual(named, set(expression.split(" AND ")))
        for name in ["LICENSE", *listed]:
            self.assertTrue(any(path.endswith(".dist-info/licenses/" + name) for path in self.files), name)

    def test_extras(self):
        self.assertIn("Provides-Extra: hf\n", self.metadata)
        self.assertIn("Provides-Extra: torch\n", self.metadata)
        self.assertIn("Requires-Dist: numpy\n", self.metadata)


class SourceDistribution(unittest.TestCase):
    def test_names(self):
        with tarfile.open(SDIST) as archive:
            names = [name.split("/")[1:] for name in archive.getnames()]
        self.assertEqual({name[0] for name in names if name}, SDIST_NAMES)
        for folder, wanted in ("python", {"README.md", "_version.py.in", "meson.build", "sbeam"}), \
                ("scripts", {"trim-sdist"}):
            self.assertEqual({name[1] for name in names if name[:1] == [folder] and len(name) > 1}, wanted)
        self.assertFalse(any(name[-1].endswith((".csv", ".svg", ".pyc")) for name in names if name))


class Types(unittest.TestCase):
    def test_mypy(self):
        """mypy --strict accepts the package; pyproject.toml sets it."""
        done = subprocess.run(["mypy", "--cache-dir", "build-wheel/mypy"], cwd=str(ROOT), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout.decode())
