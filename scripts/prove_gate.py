#!/usr/bin/env python3
"""Proves the gate: a build compared with itself stays green, and a build that is slower by a known share goes red.

Measures in turn, one results file of `fmha_bwd bench` after the other: PROGRAM, SLOW, PROGRAM, SLOW .. and compares
each file of PROGRAM with the one before (nothing changed) and each file of SLOW with that of PROGRAM just before.
SLOW is the same source, configured with -DFMHA_BWD_TEST_SLOWDOWN=0.03: each timed pass spins 3 % of its time longer.
Prints how many comparisons called a case slower, and of how many cases. Words after -- go to bench.

    scripts/prove_gate.py build/release/fmha_bwd build/slow/fmha_bwd --comparisons 100 -- --cases bench/cases/gate.txt

Exit codes: 0 at most 1 in 100 comparisons of PROGRAM with itself is red, and at least 95 in 100 of SLOW; 1 not so;
2 bad usage; 6 a program fails.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

MOST_FALSE_ALARMS = 0.01
LEAST_FOUND = 0.95


def measured(program, words, path):
    """A results file of one run of bench."""
    done = subprocess.run([program, "bench", *words, "--quiet", "--output", path], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        print(f"prove_gate: {program} bench ended with {done.returncode}: {done.stderr.strip()}", file=sys.stderr)
        sys.exit(6)
    return path


def verdicts(program, base, new, words):
    """The verdicts of the cases."""
    done = subprocess.run([program, "compare", base, new, "--format", "json", *words], capture_output=True, text=True,
                          check=False)
    if done.returncode not in (0, 4, 5):
        print(f"prove_gate: compare ended with {done.returncode}: {done.stderr.strip()}", file=sys.stderr)
        sys.exit(6)
    return [case["verdict"] for case in json.loads(done.stdout)["cases"]]


class Tally:
    """Comparisons of one kind."""

    def __init__(self, name):
        self.name = name
        self.comparisons = 0
        self.red = 0
        self.cases = {}

    def add(self, found):
        self.comparisons += 1
        self.red += "slower" in found
        for verdict in found:
            self.cases[verdict] = self.cases.get(verdict, 0) + 1

    def line(self):
        cases = ", ".join(f"{count} {verdict}" for verdict, count in sorted(self.cases.items()))
        return f"{self.name}: {self.red} of {self.comparisons} comparisons call a case slower; cases: {cases}"


def arguments_from(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("slow", nargs="?", help="without it, PROGRAM is compared with itself alone")
    parser.add_argument("--comparisons", type=int, default=100, metavar="N", help="of each kind [%(default)s]")
    parser.add_argument("--max-slowdown", default="1%", metavar="P%%", help="of compare [%(default)s]")
    own, words = (argv[:argv.index("--")], argv[argv.index("--") + 1:]) if "--" in argv else (argv, [])
    return parser.parse_args(own), words


def main(argv):
    arguments, words = arguments_from(argv)
    compare = ["--max-slowdown", arguments.max_slowdown]
    same = Tally("the build with itself")
    slower = Tally("the slower build")
    with tempfile.TemporaryDirectory() as folder:
        before = measured(arguments.program, words, str(Path(folder, "0.json")))
        for i in range(1, arguments.comparisons + 1):
            if arguments.slow:
                slow = measured(arguments.slow, words, str(Path(folder, "slow.json")))
                slower.add(verdicts(arguments.program, before, slow, compare))
            after = measured(arguments.program, words, str(Path(folder, f"{i % 2}.json")))
            same.add(verdicts(arguments.program, before, after, compare))
            before = after
            print(f"[{i}/{arguments.comparisons}] {same.line()}"
                  + (f"; {slower.line()}" if arguments.slow else ""), file=sys.stderr, flush=True)
    print(same.line())
    holds = same.red <= MOST_FALSE_ALARMS * same.comparisons
    if arguments.slow:
        print(slower.line())
        holds &= slower.red >= LEAST_FOUND * slower.comparisons
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
