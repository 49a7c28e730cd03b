"""Tests of scripts/product_gaps.py on what cuobjdump prints."""
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import product_gaps  # noqa: E402

# An outer loop from 0x10 with an inner one from 0x20 to 0xb0: two groups, of two products and of one.
INSTRUCTIONS = ["S2R R0, SR_TID.X", "UMOV UR4, 0x400", "UIADD3 UR5, UR4, 0x1, URZ", "R2UR UR6, R0", "WARPGROUP.ARRIVE",
                "HGMMA.64x64x16.F32.BF16 R24, gdesc[UR4], RZ, !UPT", "UIADD3.64 UR8, UR6, 0x2, URZ",
                "HGMMA.64x64x16.F32.BF16 R24, gdesc[UR8], R24, gsb0", "WARPGROUP.DEPBAR.LE gsb0, 0x0",
                "IMAD.MOV.U32 R1, RZ, RZ, R24", "HGMMA.64x64x16.F32.BF16 R56, R88, gdesc[UR8].tnspB, R56, gsb0",
                "@!P0 BRA 0x20", "@!P1 BRA 0x10", "EXIT"]
SASS = "\n".join(["\t\tFunction : _Z5loopsv", *(f"        /*{16 * i:04x}*/                   {text} ;"
                                                for i, text in enumerate(INSTRUCTIONS))])


class ProductGapsTest(unittest.TestCase):
    def row(self, text=SASS):
        rows = product_gaps.rows_of(text, "loops")
        self.assertEqual(len(rows), 1)
        return dict(zip(product_gaps.COLUMNS, rows[0]))

    def test_takes_the_innermost_loop_alone(self):
        self.assertEqual(self.row()["all"], "10")
        self.assertEqual(self.row()["products"], "3")

    def test_counts_from_the_loops_start_and_from_a_wait_to_the_products(self):
        self.assertEqual(self.row()["before"], "3 1")

    def test_counts_from_the_end_of_a_group_where_nothing_is_awaited(self):
        self.assertEqual(self.row(SASS.replace("WARPGROUP.DEPBAR.LE gsb0, 0x0", "NOP"))["before"], "3 2")

    def test_counts_moves_of_registers_and_moves_to_uniform_ones_apart(self):
        self.assertEqual((self.row()["R2UR"], self.row()["moves"]), ("1", "1"))

    def test_leaves_out_kernels_of_other_names_and_loops_without_products(self):
        self.assertEqual(product_gaps.rows_of(SASS, "other"), [])
        self.assertEqual(product_gaps.rows_of(SASS.replace("HGMMA", "HMMA"), "loops"), [])

    def run_main(self, script, *arguments):
        """Exit code, stdout and stderr where cuobjdump is the shell script `script`."""
        with tempfile.TemporaryDirectory() as folder:
            tool = Path(folder) / "cuobjdump"
            tool.write_text("#!/bin/sh\n" + script)
            tool.chmod(0o755)
            out, err = io.StringIO(), io.StringIO()
            with (mock.patch.object(sys, "argv", ["product_gaps.py", "x.cubin", "--cuobjdump", str(tool), *arguments]),
                  contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)):
                return product_gaps.main(), out.getvalue(), err.getvalue()

    def test_prints_a_line_for_each_loop(self):
        code, out, _ = self.run_main(f"cat <<'END'\n{SASS}\nEND\n", "--match", "loops")
        self.assertEqual(code, 0)
        self.assertEqual([line.split() for line in out.splitlines()][1:], [["loops", "10", "3", "1", "1", "3", "1"]])

    def test_says_why_there_is_nothing_to_print(self):
        self.assertEqual(self.run_main("exit 0\n")[0], 3)
        code, _, err = self.run_main("echo 'no such file' >&2; exit 1\n")
        self.assertEqual((code, err), (6, "product_gaps: x.cubin: no such file\n"))


if __name__ == "__main__":
    unittest.main()
