"""Tests of scripts/measure_choice.py with a program made up for them."""
import contextlib
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import measure_choice  # noqa: E402

# hopper takes 1 ms a key tile of 128, mma a tenth of a millisecond a key less than 100, 1.01 ms otherwise.
PROGRAM = """#!/usr/bin/env python3
import json, sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
seqlen, kernel = int(given["--seqlen-k"]), given["--kernel"]
if given["--hdim"] == "256" and kernel == "mma":
    sys.exit(3)
if given["--hdim"] == "7":
    print("--hdim: 7 is odd", file=sys.stderr)
    sys.exit(2)
ms = 1.0 if kernel == "hopper" else 0.1 if seqlen < 100 else 1.01 if seqlen < 200 else 2.0
print(json.dumps({"device": {"arch": "sm_90", "name": "a GPU"},
                  "masks": [{"mask": m, "timing": {"total_ms": ms}} for m in given["--mask"].split(",")]}))
"""


class MeasureChoice(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.binary = Path(folder.name, "fmha_bwd")
        self.binary.write_text(PROGRAM)
        os.chmod(self.binary, 0o755)
        self.output = Path(folder.name, "choices.inc")

    def run_with(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        argv = ["measure_choice.py", "--binary", str(self.binary), "--output", str(self.output), *arguments]
        with mock.patch.object(sys, "argv", argv), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = measure_choice.main()
        return code, out.getvalue(), err.getvalue()

    def test_rows_name_the_fastest_family_and_the_first_where_it_is_about_as_fast(self):
        code, table, _ = self.run_with("--hdims", "64", "--seqlens", "64,250", "--problems", "2x8")
        self.assertEqual(code, 0)
        lines = self.output.read_text().splitlines()
        self.assertIn("a GPU", lines[0])
        self.assertEqual(lines[2:], ['{"sm_90", 64, "no_mask", 16, 64, "mma"},',
                                     '{"sm_90", 64, "top_left", 16, 64, "mma"},',
                                     '{"sm_90", 64, "no_mask", 16, 250, "hopper"},',
                                     '{"sm_90", 64, "top_left", 16, 250, "hopper"},'])
        self.assertIn("| 64 | no_mask | 16 | 64 | 1.0000 | 0.1000 | mma |", table)
        self.assertEqual(measure_choice.fastest(["mma", "hopper"], {"mma": 1.01, "hopper": 1.0}), "mma")
        self.assertEqual(measure_choice.fastest(["mma", "hopper"], {"mma": 1.03, "hopper": 1.0}), "hopper")

    def test_a_family_that_does_not_take_a_shape_is_left_out(self):
        code, table, _ = self.run_with("--hdims", "256", "--seqlens", "64", "--problems", "1x8")
        self.assertEqual(code, 0)
        self.assertIn("| 256 | no_mask | 8 | 64 | 1.0000 | n/a | hopper |", table)

    def test_nothing_is_written_where_nothing_was_timed_or_the_program_failed(self):
        code, _, error = self.run_with("--hdims", "256", "--kernels", "mma", "--problems", "1x8")
        self.assertEqual((code, error), (3, "measure_choice: no family takes any of the shapes\n"))
        code, _, error = self.run_with("--hdims", "7")
        self.assertEqual(code, 6)
        self.assertIn("exit code 2: --hdim: 7 is odd", error)
        self.assertFalse(self.output.exists())

    def test_bad_lists_are_refused(self):
        for arguments in (("--problems", "8"), ("--seqlens", "0"), ("--hdims", "x")):
            with self.assertRaises(SystemExit) as raised:
                self.run_with(*arguments)
            self.assertEqual(raised.exception.code, 2)


if __name__ == "__main__":
    unittest.main()
