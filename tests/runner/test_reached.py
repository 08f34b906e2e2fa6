"""Tests how lines and branches are counted, also with gcc and gcov on a small program."""
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import reached
from check import Outcome
from counting import Counts

PROGRAM = """int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return 1;

    if (argc > 2) {
        argc++;
        argc--;
    }
    return 0;
}
"""


def source(lines, branches=()):
    made = reached.Source()
    for number, count in lines.items():
        made.add({"line_number": number, "count": count,
                  "branches": [{"count": n, "throw": False} for n in dict(branches).get(number, ())]})
    return made


class Sources(unittest.TestCase):
    def test_ranges(self):
        self.assertEqual(source({3: 1, 4: 0, 6: 0, 7: 2, 9: 0}).unreached(), [(4, 6), (9, 9)])
        self.assertEqual(source({3: 1}).unreached(), [])

    def test_objects_of_one_source_add_up(self):
        both = source({1: 0, 2: 0}, {2: (0, 1)})
        both.add({"line_number": 1, "count": 5, "branches": []})
        both.add({"line_number": 2, "count": 1, "branches": [{"count": 1, "throw": False}, {"count": 0, "throw": False},
                                                             {"count": 0, "throw": True}]})
        self.assertEqual(both.total(), reached.Total(2, 2, 2, 2))

    def test_only_our_files_count(self):
        sources = {}
        files = [{"file": name, "lines": [{"line_number": 1, "count": 1, "branches": []}]}
                 for name in ("../src/base/a.c", "../tests/b.c", "/usr/include/c.h", "../apps/cli/d.c")]
        reached.add_report(sources, {"current_working_directory": "/top/build", "files": files}, "/top")
        self.assertEqual(sorted(sources), ["apps/cli/d.c", "src/base/a.c"])


class Reports(unittest.TestCase):
    SOURCES = {"src/base/a.c": source({1: 1, 2: 0}, {1: (1, 0)}), "src/base/b.c": source({1: 1, 2: 1, 3: 1}),
               "apps/cli/c.c": source({1: 0})}

    def test_table(self):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in reached.table(self.SOURCES)[2:]]
        self.assertEqual(rows, [["`apps/cli`", "1", "0", "0.0", "0", "0", "-"],
                                ["`src/base`", "5", "4", "80.0", "2", "1", "50.0"],
                                ["all", "6", "4", "66.6", "2", "1", "50.0"]])
        self.assertEqual(reached.percent(9999, 10000), "99.9")

    def test_sentence(self):
        outcomes = [Outcome(name, Counts(n, 0, 0)) for name, n in (("build", 1), ("unit tests", 1200), ("python", 7))]
        self.assertEqual(reached.sentence(outcomes),
                         "Reached by 1,200 unit tests and 7 tests of the Python package together:")

    def test_list(self):
        self.assertEqual(reached.list_unreached(self.SOURCES), ["apps/cli/c.c:1", "src/base/a.c:2"])

    def test_markers(self):
        text = "a\n%s\nold\n%s\nb\n" % (reached.BEGIN, reached.END)
        new = reached.replace_between(text, ["x", "y"])
        self.assertEqual(new, "a\n%s\nx\ny\n%s\nb\n" % (reached.BEGIN, reached.END))
        self.assertEqual(reached.replace_between(new, ["x", "y"]), new)
        for wrong in ("", reached.BEGIN, reached.END + reached.BEGIN, text + text):
            with self.assertRaisesRegex(ValueError, "expected one line"):
                reached.replace_between(wrong, [])


class Gcov(unittest.TestCase):
    def test_a_program(self):
        with tempfile.TemporaryDirectory() as name:
            top = Path(name).resolve()
            (top / "src").mkdir()
            (top / "build").mkdir()
            (top / "src/main.c").write_text(PROGRAM)
            subprocess.run(["gcc", "--coverage", "-c", "../src/main.c", "-o", "main.o"], cwd=top / "build", check=True)
            objects = [top / "build/main.gcno"]
            with mock.patch.object(reached, "FOLDER", top / "build"):
                before = reached.run_gcov(objects, top)
                self.assertEqual(before["src/main.c"].total().reached, 0)  # it never ran
                subprocess.run(["gcc", "--coverage", "main.o", "-o", "main"], cwd=top / "build", check=True)
                subprocess.run(["./main"], cwd=top / "build", check=True)
                after = reached.run_gcov(objects, top)
            self.assertEqual(after["src/main.c"].unreached(), [(5, 5), (8, 9)])
            self.assertEqual(after["src/main.c"].total()[2:], (4, 2))


if __name__ == "__main__":
    unittest.main()
