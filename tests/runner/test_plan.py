"""Tests which parts a tier has, without running them."""
import os
import unittest
from pathlib import Path
from unittest import mock

import plan


class Recorder:
    """Takes the place of Check: every part passes."""

    def __init__(self):
        self.parts, self.skips = {}, []

    def run(self, *parts):
        self.parts.update((part.name, part) for part in parts)
        return True

    def skip(self, name, reason):
        self.skips.append(name)


def parts_of(tier, why_not=lambda flags, wrapper=(), env=None: None):
    recorder = Recorder()
    with mock.patch.object(plan, "why_not", why_not), mock.patch.dict("os.environ", {"SBEAM_TEST_SHARE": "0.001"}):
        plan.run_plan(recorder, tier)
        assert "SBEAM_TEST_SHARE" not in os.environ
    return recorder


class Tiers(unittest.TestCase):
    def test_quick_is_a_part_of_plain(self):
        quick, plain = parts_of("quick").parts, parts_of("plain").parts
        self.assertLess(set(quick), set(plain))
        self.assertIn("--suite quick", " ".join(quick["unit tests"].command))
        self.assertNotIn("--suite", plain["unit tests"].command)
        self.assertFalse([name for name in quick if "San" in name or "fuzz" in name])

    def test_full_differs_from_plain_in_the_draws_under_sanitizers(self):
        plain, full = parts_of("plain").parts, parts_of("full").parts
        self.assertEqual(list(plain), list(full))
        for name, part in plain.items():
            self.assertEqual(part.command, full[name].command)
            self.assertNotIn("SBEAM_TEST_SHARE", full[name].env)
        for name in ("ASan+UBSan: tests", "TSan: tests"):
            self.assertEqual(plain[name].env["SBEAM_TEST_SHARE"], plan.SHARE)
        self.assertNotIn("SBEAM_TEST_SHARE", plain["unit tests"].env)

    def test_every_part_has_a_log_of_its_own(self):
        logs = [part.log for part in parts_of("full").parts.values()]
        self.assertEqual(len(set(logs)), len(logs))


class Sanitizers(unittest.TestCase):
    def test_none_can_start(self):
        recorder = parts_of("full", lambda flags, wrapper=(), env=None: "it broke")
        self.assertEqual(recorder.skips, ["ASan+UBSan", "TSan", "fuzzers"])

    def test_leaks_cannot_be_found(self):
        def why_not(flags, wrapper=(), env=None):
            return "ptrace" if "detect_leaks=1" in env["ASAN_OPTIONS"] else None

        recorder = Recorder()
        with mock.patch.object(plan, "why_not", why_not):
            env = plan.run_address_sanitizer(recorder, {})
        self.assertEqual(recorder.skips, ["leaks"])
        self.assertIn("detect_leaks=0", env["ASAN_OPTIONS"])
        self.assertIn("detect_leaks=0", recorder.parts["ASan+UBSan: tests"].env["ASAN_OPTIONS"])

    def test_addresses_are_not_randomised_under_the_thread_sanitizer_if_that_is_allowed(self):
        self.assertEqual(parts_of("full").parts["TSan: command"].command[0], "setarch")
        recorder = parts_of("full", lambda flags, wrapper=(), env=None: "not allowed" if wrapper else None)
        self.assertEqual(recorder.parts["TSan: command"].command[0], "tests/cli/run")


class Fuzzers(unittest.TestCase):
    def test_every_harness_of_the_folder_runs(self):
        names = {path.stem[len("fuzz_"):] for path in Path("tests/fuzz").glob("fuzz_*.c")}
        with mock.patch.object(plan, "fuzz_program", lambda name: Path(__file__)):
            recorder = parts_of("plain")
        self.assertEqual({name[len("fuzz "):] for name in recorder.parts if name.startswith("fuzz ")}, names)
        self.assertEqual(recorder.skips, [])
        for name in names:
            self.assertTrue(any(Path("tests/fuzz/corpus", name).iterdir()), name)  # it has seeds

    def test_only_harnesses_that_need_a_library_may_be_absent(self):
        with mock.patch.object(plan, "fuzz_program", lambda name: Path("nowhere") / name):
            recorder = parts_of("plain")
        self.assertEqual(recorder.skips, ["fuzz gguf", "fuzz pieces"])
        self.assertIn("fuzz shuf", recorder.parts)


if __name__ == "__main__":
    unittest.main()
