"""Builds the wheel of the package for pip (PEP 517), with the standard library only.

A wheel is a zip archive of the package and a list of its files. This one also carries the library,
the command and the default model of the source tree. setuptools could build it too, but then
`pip install ./python` would need setuptools and wheel, from the system or from the network.

The backend writes only the wheel, in the folder that pip names. It reads the [project] table of
pyproject.toml, whose values must be JSON as well as TOML: Python has no TOML reader before 3.11."""
import base64
import contextlib
import hashlib
import importlib.util
import json
import re
import sys
import sysconfig
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LIBRARY = ROOT / "build" / "libsbeam.so"
CARRIED = {  # name in the package: source
    "libsbeam.so": LIBRARY,
    "bin/sbeam": ROOT / "build" / "sbeam",
    "models/enfr-everyday.safetensors": ROOT / "models" / "enfr-everyday.safetensors",
}

# Python has just written this module's byte code next to it. Keep the source tree clean.
compiled = Path(importlib.util.cache_from_source(__file__))
with contextlib.suppress(OSError):
    compiled.unlink()
    compiled.parent.rmdir()


def read_project():
    """Returns the [project] table of pyproject.toml."""
    text = (HERE / "pyproject.toml").read_text(encoding="utf-8")
    table = text.split("[project]\n")[1].split("\n[")[0]
    return {key: json.loads(value) for key, value in re.findall(r"^([\w-]+) = (.*)$", table, re.M)}


def write_wheel(folder, tag, files):
    """Writes a wheel of `files` (name in the wheel: path or bytes) and returns its file name."""
    project = read_project()
    base = "%s-%s" % (project["name"], project["version"])
    metadata = ["Metadata-Version: 2.1", "Name: " + project["name"],
                "Version: " + project["version"], "Summary: " + project["description"],
                "License: " + project["license"], "Requires-Python: " + project["requires-python"]]
    metadata += ["Requires-Dist: " + name for name in project["dependencies"]]
    wheel = ["Wheel-Version: 1.0", "Generator: sbeam", "Root-Is-Purelib: false", "Tag: " + tag]
    files = dict(files)
    for name, lines in (("METADATA", metadata), ("WHEEL", wheel)):
        files["%s.dist-info/%s" % (base, name)] = ("\n".join(lines) + "\n").encode()
    record = []
    archive_name = "%s-%s.whl" % (base, tag)
    with zipfile.ZipFile(Path(folder) / archive_name, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(name, data, mode):
            entry = zipfile.ZipInfo(name)  # dated 1980: equal files make equal wheels
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = mode << 16
            archive.writestr(entry, data)

        for name, source in files.items():
            data = source if isinstance(source, bytes) else source.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append("%s,sha256=%s,%d" % (name, digest, len(data)))
            add(name, data, 0o100755 if "/bin/" in name else 0o100644)
        record_name = base + ".dist-info/RECORD"
        add(record_name, "\n".join(record + [record_name + ",,"]) + "\n", 0o100644)
    return archive_name


def check_library():
    """Exits with advice if the library is not built."""
    if not LIBRARY.exists():
        sys.exit("sbeam: %s does not exist: run scripts/build first" % LIBRARY)


# --- the functions that pip calls ---

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel and returns its file name. The wheel is for any Python 3 on this kind of
    machine: the library is native code, but not a Python extension."""
    check_library()
    files = {path.relative_to(HERE).as_posix(): path
             for path in sorted((HERE / "sbeam").rglob("*")) if path.suffix in (".py", ".typed")}
    files.update(("sbeam/" + name, path) for name, path in CARRIED.items() if path.exists())
    machine = re.sub(r"[-.]", "_", sysconfig.get_platform())
    return write_wheel(wheel_directory, "py3-none-" + machine, files)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Does the same for `pip install -e`: the package and the library stay in the source tree."""
    check_library()
    return write_wheel(wheel_directory, "py3-none-any", {"sbeam.pth": (str(HERE) + "\n").encode()})


def build_sdist(sdist_directory, config_settings=None):
    """Refuses: a source archive of this folder would have no library."""
    sys.exit("sbeam: a source archive cannot hold libsbeam.so; build a wheel (pip wheel ./python)")
