"""The structs of ctypes have the layout that the C compiler gives those of the headers."""
import ctypes
import os
import subprocess
import tempfile
import unittest

from support import ROOT

from sbeam import _errors, _library, _structs

CONSTANTS = {
    "SB_ROW_FLOAT": _structs.ROW_FLOAT, "SB_ROW_DOUBLE": _structs.ROW_DOUBLE,
    "SB_OPTION_INT": _structs.OPTION_INT, "SB_OPTION_REAL": _structs.OPTION_REAL,
    "SB_OPTION_FLAG": _structs.OPTION_FLAG, "SB_OPTION_CHOICE": _structs.OPTION_CHOICE,
    "SB_LAW_WITHOUT_REPLACEMENT": _structs.LAW_WITHOUT_REPLACEMENT,
    "SB_LAW_INDEPENDENT": _structs.LAW_INDEPENDENT, "SB_LAW_BIASED": _structs.LAW_BIASED,
    "SB_LAW_DETERMINISTIC": _structs.LAW_DETERMINISTIC,
    "SB_NGRAM_ORDERS": _structs.NGRAM_ORDERS, "SB_END_STOP": 4, "SB_STOPPED_BY_EXHAUSTED": 4,
}
CONSTANTS.update(("SB_ERR_" + error.status.upper(), status)
                 for status, error in _errors.BY_STATUS.items())


class Layout(unittest.TestCase):
    def compile(self, body):
        """Compiles and runs a program with this body. Returns the lines that it prints."""
        compiler = os.environ.get("CC", "cc").split()
        with tempfile.TemporaryDirectory() as folder:
            source, program = folder + "/layout.c", folder + "/layout"
            with open(source, "w", encoding="utf-8") as file:
                file.write("#include <stddef.h>\n#include <stdio.h>\n#include <sbeam/sbeam.h>\n"
                           "int main(void)\n{\n%s    return 0;\n}\n" % body)
            try:
                subprocess.run(compiler + ["-std=c11", "-Wall", "-Werror", "-o", program, source,
                                           "-I", str(ROOT / "include")], check=True)
            except FileNotFoundError:
                self.skipTest("there is no C compiler")
            return subprocess.run([program], check=True, text=True,
                                  stdout=subprocess.PIPE).stdout.splitlines()

    def test_structs(self):
        expected, body = [], ""

        def ask(text, expression, value):
            nonlocal body
            body += '    printf("%s %%zu\\n", (size_t)(%s));\n' % (text, expression)
            expected.append("%s %d" % (text, value))

        for struct in _structs.MIRRORED:
            name = struct.__name__
            ask(name, "sizeof(%s)" % name, ctypes.sizeof(struct))
            for field in struct._fields_:
                at = getattr(struct, field[0])
                ask("%s.%s" % (name, field[0]), "offsetof(%s, %s)" % (name, field[0]), at.offset)
                ask("%s.%s size" % (name, field[0]), "sizeof(((%s *)0)->%s)" % (name, field[0]),
                    at.size)
        self.assertEqual(self.compile(body), expected)
        self.assertGreater(len(expected), 200)

    def test_constants(self):
        body = "".join('    printf("%s %%d\\n", (int)%s);\n' % (name, name) for name in CONSTANTS)
        self.assertEqual(self.compile(body), ["%s %d" % item for item in CONSTANTS.items()])

    def test_versions(self):
        [header] = self.compile('    printf("%d.%d.%d\\n", SB_VERSION_MAJOR, SB_VERSION_MINOR, '
                                'SB_VERSION_PATCH);\n')
        self.assertEqual(_library.__version__, header)
        with open(ROOT / "meson.build", encoding="utf-8") as file:
            self.assertIn("version: '%s'" % header, file.read())

    def test_enums_fit(self):
        body = '    printf("%zu %zu\\n", sizeof(sb_status), sizeof(sb_end));\n'
        self.assertEqual(self.compile(body), ["%d %d" % ((ctypes.sizeof(ctypes.c_int),) * 2)])


if __name__ == "__main__":
    unittest.main()
