"""The version of the package in the source tree, which meson.build states. An installed package has
another file in place of this one, with the version itself."""
import re
from pathlib import Path

_BUILD_FILE = Path(__file__).resolve().parent.parent.parent / "meson.build"
_FOUND = re.search(r"^  version: '([^']*)'", _BUILD_FILE.read_text(encoding="utf-8"), re.M)
assert _FOUND is not None, "%s states no version" % _BUILD_FILE
__version__ = _FOUND.group(1)
