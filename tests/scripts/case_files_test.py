"""Tests of bench/cases: what fmha_bwd itself does not check of them."""
import re
import shlex
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
CASES = ROOT / "bench" / "cases"
sys.path.insert(0, str(ROOT / "scripts"))
from peers import plan  # noqa: E402


def options_of(name):
    """The options of each line, as {"--batch": "4", ...}; only of files whose options all have a value."""
    lines = (shlex.split(line, comments=True) for line in (CASES / name).read_text().splitlines())
    return [dict(zip(words[::2], words[1::2])) for words in lines if words]


class CaseFiles(unittest.TestCase):
    def test_begin_with_their_purpose_and_say_how_many_cases_they_have(self):
        for path in CASES.glob("*.txt"):
            head = re.match(r"(?:# .+\n)+# Cases: \d+\n", path.read_text())
            self.assertTrue(head, path.name)

    def test_peers_are_the_rows_that_compare_peers_measures(self):
        lengths = [(512 << i, 512 << i) for i in range(6)]
        rows = {str(shape) for shape in plan.shapes(["bf16"], [64, 128], plan.MASKS[:2], lengths)}
        cases = set()
        for line in options_of("peers.txt"):
            batch, nhead, seqlen, hdim = (int(line[f"--{name}"]) for name in ("batch", "nhead", "seqlen", "hdim"))
            for mask in line["--mask"].split(","):
                cases.add(str(plan.Shape(batch, nhead, nhead, seqlen, seqlen, hdim, mask, line["--dtype"],
                                         line["--layout"])))
            self.assertEqual(line["--layout"], "bshd")
        self.assertEqual(cases, rows)
        self.assertEqual(len(cases), 24)


if __name__ == "__main__":
    unittest.main()
