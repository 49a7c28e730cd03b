"""Tests of fmha_bwd bench as a process: killed and resumed, on a full disk, in parts, against itself.
FMHA_BWD is the program; SEED repeats the moments of an earlier run."""
import glob
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

CASES = Path(__file__).parents[2] / "bench" / "cases"
COMPARE_PY = Path("/usr/share/benchmark/compare.py")
PROGRAM = os.environ.get("FMHA_BWD", "")
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 32)))

TINY = ["--device", "emulator", "--batch", "1", "--nhead", "1", "--hdim", "16", "--samples", "2",
        "--warmup-time", "0"]
SWEEP = [*TINY, "--mask", "no_mask,top_left", "--seqlen", "16,32"]
TIMES = ("single_ms", "batch_ms", "graph_ms")


def run(*words, **settings):
    command = [PROGRAM, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **settings)


def results(path):
    """The parsed file; fails where it is no JSON."""
    return json.loads(Path(path).read_text())


def rounds_of(path):
    """Each case's rounds by its name; none where there is no file."""
    if not Path(path).exists():
        return {}
    return {case["name"]: case["rounds"] for case in results(path)["cases"]}


def without_times(path):
    """All that two runs of a sweep have in common."""
    whole = results(path)
    context = dict(whole["context"]["fmha_bwd"])
    for key in ("command", "started"):
        del context[key]
    for case in whole["cases"]:
        for a_round in case["rounds"]:
            a_round["batch_passes"] = None
            for kind in TIMES:
                a_round[kind] = len(a_round[kind])
    return context, whole["cases"]


@unittest.skipUnless(PROGRAM, "FMHA_BWD is not set")
class BenchSweep(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="fmha_bwd_sweep_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.out = self.folder / "out.json"

    def bench(self, *words, code=0, **settings):
        outcome = run("bench", *words, **settings)
        self.assertEqual(outcome.returncode, code, outcome.stderr + outcome.stdout)
        return outcome

    def assert_kept(self, before, after):
        for name, rounds in before.items():
            self.assertEqual(after[name][:len(rounds)], rounds, name)


class Killed(BenchSweep):
    KILLS = 20
    ROUNDS = 12

    def start(self):
        words = [*SWEEP, "--rounds", self.ROUNDS, "--output", self.out, "--resume", "--quiet"]
        return subprocess.Popen([PROGRAM, "bench", *map(str, words)], stderr=subprocess.PIPE, text=True)

    def finish(self, process):
        self.assertEqual(process.wait(), 0, process.stderr.read())
        process.stderr.close()
        self.assertEqual([len(rounds) for rounds in rounds_of(self.out).values()], [self.ROUNDS] * 4)

    def test_twenty_times_at_random_moments_loses_and_repeats_nothing(self):
        print(f"SEED={SEED}", file=sys.stderr)
        chance = random.Random(SEED)
        kills = kills_midway = 0
        before = {}
        begin = time.monotonic()
        self.finish(self.start())
        whole = time.monotonic() - begin
        self.out.unlink()
        while kills < self.KILLS:
            process = self.start()
            time.sleep(chance.uniform(0.0, whole))
            process.kill()
            if process.wait() == 0:  # it was done before
                self.finish(process)
                self.out.unlink()
                before = {}
                continue
            process.stderr.close()
            kills += 1
            after = rounds_of(self.out)
            kills_midway += sum(map(len, after.values())) > sum(map(len, before.values()))
            self.assert_kept(before, after)
            self.assertLessEqual(max(map(len, after.values()), default=0), self.ROUNDS)
            before = after
        self.finish(self.start())
        self.assert_kept(before, rounds_of(self.out))
        self.assertGreater(kills_midway, 0, "no kill came while rounds were measured")


class FullDisk(BenchSweep):
    def limited(self, size):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return limit

    def test_is_six_and_one_line_and_what_was_measured_is_kept(self):
        words = [*SWEEP, "--rounds", 4, "--quiet", "--output"]
        self.bench(*words, self.folder / "whole.json")
        size = (self.folder / "whole.json").stat().st_size
        outcome = self.bench(*words, self.out, code=6, preexec_fn=self.limited(size * 7 // 10))
        self.assertEqual(outcome.stderr, f"fmha_bwd: --output: cannot write '{self.out}': File too large\n")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["out.json", "whole.json"])
        kept = rounds_of(self.out)
        self.assertIn(sum(map(len, kept.values())), range(1, 16))
        self.bench(*words, self.out, "--resume")
        self.assert_kept(kept, rounds_of(self.out))
        self.assertEqual([len(rounds) for rounds in rounds_of(self.out).values()], [4] * 4)

    def test_at_the_end_keeps_the_parts_of_several_devices(self):
        words = [*SWEEP, "--rounds", 4, "--quiet", "--output", self.out, "--device", "emulator:0,emulator:0"]
        self.bench(*words)
        size = self.out.stat().st_size
        self.out.unlink()
        outcome = self.bench(*words, code=6, preexec_fn=self.limited(size * 8 // 10))
        self.assertEqual(outcome.stderr, f"fmha_bwd: --output: cannot write '{self.out}': File too large\n")
        parts = [self.folder / f"out.json.part{i}" for i in (1, 2)]
        kept = {**rounds_of(parts[0]), **rounds_of(parts[1])}
        self.assertEqual([len(rounds) for rounds in kept.values()], [4] * 4)
        self.bench(*words, "--resume")
        self.assertEqual(rounds_of(self.out), kept)


class Parts(BenchSweep):
    def setUp(self):
        super().setUp()
        self.whole = self.folder / "whole.json"
        # Six cases.
        self.sweep = [*SWEEP, "--device", "emulator:0", "--mask", "bottom_right", "--rounds", 2, "--quiet"]
        self.bench(*self.sweep, "--output", self.whole)

    def assert_whole(self, path):
        self.assertEqual(without_times(path), without_times(self.whole))
        base = run("compare", self.whole, self.whole)
        self.assertEqual(run("compare", self.whole, path).returncode, base.returncode)

    def test_two_shards_merged_are_the_whole(self):
        for i in (1, 2):
            self.bench(*self.sweep, "--shard", f"{i}/2", "--output", self.folder / f"{i}.json")
            self.assertEqual(len(rounds_of(self.folder / f"{i}.json")), 3)
        merged = run("merge", self.folder / "1.json", self.folder / "2.json", "--output", self.out)
        self.assertEqual(merged.returncode, 0, merged.stderr)
        self.assert_whole(self.out)

    def test_two_devices_are_the_whole(self):
        self.bench(*self.sweep, "--device", "emulator:0,emulator:0", "--output", self.out)
        self.assert_whole(self.out)
        self.assertEqual(list(self.folder.glob("*part*")), [])

    def test_two_devices_print_the_whole(self):
        outcome = self.bench(*self.sweep, "--device", "emulator:0,emulator:0", "--output", "-")
        self.out.write_text(outcome.stdout)
        self.assert_whole(self.out)

    def test_a_killed_process_of_two_devices_is_six_and_resumed(self):
        words = [*SWEEP, "--rounds", 30, "--quiet", "--output", self.out, "--device", "emulator:0,emulator:0"]
        parent = subprocess.Popen([PROGRAM, "bench", *map(str, words)], stderr=subprocess.PIPE, text=True)
        part = self.folder / "out.json.part1"
        while not part.exists():
            time.sleep(0.01)
        children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
        victim = next(pid for pid in children
                      if f"{part}\0" in Path(f"/proc/{pid}/cmdline").read_text())
        os.kill(int(victim), signal.SIGKILL)
        _, errors = parent.communicate(timeout=120)
        self.assertEqual(parent.returncode, 6, errors)
        self.assertEqual(errors, f"fmha_bwd: the process of '{part}' ended with code 137 before it was done; "
                                 "--resume goes on with it\n")
        kept = rounds_of(part)
        self.bench(*words, "--resume")
        self.assert_kept(kept, rounds_of(self.out))
        self.assertEqual([len(rounds) for rounds in rounds_of(self.out).values()], [30] * 4)

    def test_two_devices_end_as_one(self):
        words = [*SWEEP, "--kernel", "plain", "--rounds", 1, "--quiet"]
        self.bench(*words, code=3)
        self.bench(*words, "--device", "emulator:0,emulator:0", code=3)
        self.bench(*words, "--kernel", "nonsense", code=2)
        self.bench(*words, "--kernel", "nonsense", "--device", "emulator:0,emulator:0", code=2)


class AgainstItself(BenchSweep):
    def test_is_not_slower(self):
        junit, markdown = self.folder / "junit.xml", self.folder / "summary.md"
        outcome = run("bench", *TINY, "--mask", "no_mask", "--seqlen", "16", "--rounds", "9", "--ab", PROGRAM,
                      "--max-slowdown", "50%", "--alpha", "0.001", "--output", self.out, "--junit", junit,
                      "--markdown", markdown)
        self.assertIn(outcome.returncode, (0, 5), outcome.stdout + outcome.stderr)
        self.assertIn("<testsuite", junit.read_text())
        self.assertIn("no_mask/fp16/B1/H1/S16/D16", markdown.read_text())
        for path in (self.out, f"{self.out}.base"):
            rounds, = rounds_of(path).values()
            self.assertIn(len(rounds), (9, 18))
            self.assertEqual(results(path)["context"]["fmha_bwd"]["rounds"], 9)

    def wrapper(self, line):
        path = self.folder / "other"
        path.write_text(f"#!/bin/sh\n{line}\nexec '{PROGRAM}' \"$@\"\n")
        path.chmod(0o755)
        return path

    def test_takes_turns_on_the_cpu(self):
        words = ["bench", "--device", "cpu", "--mask", "no_mask,top_left", "--batch", "1", "--nhead", "1", "--seqlen",
                 "16", "--hdim", "16", "--rounds", "2", "--warmup-time", "0", "--output", self.out]
        for program in (PROGRAM, self.wrapper("exec <&-")):
            outcome = run(*words, "--ab", program)
            self.assertEqual(outcome.returncode, 5, outcome.stdout + outcome.stderr)  # of so few rounds
            self.assertIn("signed-rank", outcome.stdout)
            marks = {results(path)["context"]["fmha_bwd"]["in_turn"] for path in (self.out, f"{self.out}.base")}
            self.assertEqual(len(marks), 1)
            self.assertNotEqual(marks, {""})
            for path in (self.out, f"{self.out}.base"):
                self.assertEqual([[len(a_round["single_ms"]) for a_round in case["rounds"]]
                                  for case in results(path)["cases"]], [[30, 30], [30, 30]])
        outcome = run(*words, "--ab", self.wrapper("unset FMHA_BWD_TURNS"))
        self.assertEqual(outcome.returncode, 3)
        self.assertIn("takes no turns", outcome.stderr)

    def test_a_program_that_is_killed_is_six(self):
        other = self.folder / "other"
        other.write_text(f"#!/bin/sh\n'{PROGRAM}' \"$@\"\nkill -9 $$\n")
        other.chmod(0o755)
        outcome = self.bench(*SWEEP, "--rounds", "2", "--ab", other, "--quiet", code=6)
        self.assertEqual(outcome.stderr, f"fmha_bwd: '{other}' ended with code 137 before it was done\n")


def python_with(modules):
    """This interpreter or the system's, whichever can import them; None where neither can."""
    for python in (sys.executable, "/usr/bin/python3"):
        if Path(python).exists() and subprocess.run([python, "-c", f"import {modules}"], capture_output=True,
                                                    check=False).returncode == 0:
            return python
    return None


class ComparePy(BenchSweep):
    def test_reads_our_files(self):
        python = python_with("scipy.stats, numpy")
        if not COMPARE_PY.exists() or not python:
            self.skipTest(f"needs {COMPARE_PY} (libbenchmark-tools), python3-scipy and python3-numpy")
        files = [self.folder / "1.json", self.folder / "2.json"]
        for path in files:
            self.bench(*SWEEP, "--rounds", 9, "--quiet", "--output", path)
        outcome = subprocess.run([python, COMPARE_PY, "--no-color", "benchmarks", *files],
                                 capture_output=True, text=True, timeout=120)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        for name in rounds_of(files[0]):
            row = rf"^{re.escape(name)} +[-+.\d]+ +[-+.\d]+ +[\d.]+ +[\d.]+"
            rows = re.findall(row, outcome.stdout, re.M)
            self.assertEqual(len(rows), 9, outcome.stdout)
            self.assertRegex(outcome.stdout, rf"(?m)^{re.escape(name)}_pvalue ")
            self.assertRegex(outcome.stdout, rf"(?m)^{re.escape(name)}_median ")


class Environment(BenchSweep):
    def test_chooses_no_cases(self):
        self.bench(*SWEEP, "--rounds", 1, "--quiet", "--output", self.out,
                   env={**os.environ, "BENCHMARK_FILTER": "no"})
        self.assertEqual([len(rounds) for rounds in rounds_of(self.out).values()], [1] * 4)


class CaseFiles(BenchSweep):
    def test_have_as_many_cases_as_they_say_and_none_twice(self):
        files = sorted(glob.glob(str(CASES / "*.txt")))
        self.assertGreater(len(files), 5)
        for path in files:
            with self.subTest(Path(path).name):
                said = int(re.search(r"^# Cases: (\d+)$", Path(path).read_text(), re.M)[1])
                names = self.bench("--cases", path, "--list").stdout.splitlines()
                self.assertEqual(len(names), said)
                self.assertEqual(len(set(names)), said)


if __name__ == "__main__":
    unittest.main()
