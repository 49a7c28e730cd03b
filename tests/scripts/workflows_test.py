"""Tests of scripts/workflows: the scripts with stand-ins for sbatch, srun and fmha_bwd; the YAML where PyYAML is."""
import importlib.util
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

WORKFLOWS = Path(__file__).parents[2] / "scripts" / "workflows"

# Notes each call. bench writes its files and ends with the exit code in $EXIT_CODE.
FMHA_BWD = """\
import json, os, sys
words = sys.argv[1:]
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps(["fmha_bwd", *words]) + "\\n")
for option, text in (("--output", "results"), ("--junit", "junit"), ("--markdown", "# summary\\n"), ("-o", "page")):
    if option in words:
        with open(words[words.index(option) + 1], "w") as file:
            file.write(text)
sys.exit(int(os.environ.get("EXIT_CODE", "0")))
"""

SRUN = """\
import os, sys
os.execvp(sys.argv[1], sys.argv[1:])
"""

# Notes each call, and runs the script at once: every task of an array, but for those in $LOST.
SBATCH = """\
import json, os, subprocess, sys
words = sys.argv[1:]
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps(["sbatch", *words]) + "\\n")
first = next(i for i, word in enumerate(words) if not word.startswith("-"))
array = next((word for word in words[:first] if word.startswith("--array=")), None)
tasks = range(1, int(array.split("-")[-1]) + 1) if array else [None]
for task in tasks:
    if str(task) in os.environ.get("LOST", "").split():
        continue
    environment = dict(os.environ)
    if task:
        environment.update(SLURM_ARRAY_TASK_ID=str(task), SLURM_ARRAY_TASK_COUNT="77")
    done = subprocess.run(words[first:], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    sys.stderr.write(done.stderr)
print("4711;somewhere" if array else "4712")
"""


class Workplace(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="a folder "))
        self.addCleanup(shutil.rmtree, self.folder)
        self.calls = self.folder / "calls"
        self.calls.touch()
        self.environment = dict(os.environ, CALLS=str(self.calls), FMHA_BWD=str(self.folder / "bin" / "fmha_bwd"),
                                PATH=f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
        self.environment.pop("GITHUB_STEP_SUMMARY", None)
        for name, text in (("fmha_bwd", FMHA_BWD), ("srun", SRUN), ("sbatch", SBATCH)):
            program = self.folder / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(f"#!{sys.executable}\n{text}")
            program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def run_script(self, name, *words, **environment):
        return subprocess.run([str(WORKFLOWS / name), *words], cwd=self.folder, capture_output=True, text=True,
                              env=self.environment | environment)

    def calls_of(self, program, command=None):
        calls = [json.loads(line) for line in self.calls.read_text().splitlines()]
        return [call[1:] for call in calls if call[0] == program and command in (None, call[1])]


class SlurmSweep(Workplace):
    OPTIONS = ["--cases", "my cases.txt", "--benchmark_filter=a b*$(x)"]

    def test_measures_each_shard_and_joins_them(self):
        done = self.run_script("slurm_sweep.sh", "out put", "3", *self.OPTIONS)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "shards: 4711, join: 4712\n")
        out = self.folder.resolve() / "out put"
        shards = [str(out / f"shard-{i}.json") for i in (1, 2, 3)]
        self.assertEqual(self.calls_of("fmha_bwd", "bench"),
                         [["bench", *self.OPTIONS, "--shard", f"{i}/3", "--resume", "--output", shards[i - 1]]
                          for i in (1, 2, 3)])
        results = str(out / "results.json")
        self.assertEqual(self.calls_of("fmha_bwd", "merge"), [["merge", *shards, "--output", results]])
        self.assertEqual(self.calls_of("fmha_bwd", "report"), [["report", results, "-o", str(out / "report.html")]])

    def test_asks_slurm_for_a_gpu_a_shard_and_for_the_join_after_them(self):
        self.run_script("slurm_sweep.sh", "out", "3", FMHA_BWD_GRES="gpu:mi300:1")
        array, join = self.calls_of("sbatch")
        for option in ("--array=1-3", "--gres=gpu:mi300:1", "--requeue"):
            self.assertIn(option, array)
        self.assertIn("--dependency=afterany:4711", join)
        self.assertFalse([word for word in join if "gres" in word])

    def test_joins_the_shards_of_which_some_failed(self):
        self.run_script("slurm_sweep.sh", "out", "2", EXIT_CODE="1")
        self.assertEqual(len(self.calls_of("fmha_bwd", "merge")), 1)

    def test_says_which_shard_left_no_results(self):
        done = self.run_script("slurm_sweep.sh", "out", "3", LOST="2")
        self.assertIn("shard 2 of 3 left no results", done.stderr)
        self.assertEqual(self.calls_of("fmha_bwd", "merge"), [])

    def test_refuses_what_is_no_count_of_shards(self):
        for words in ([], ["out"], ["out", "0"], ["out", "many"], ["out", "-3"]):
            self.assertEqual(self.run_script("slurm_sweep.sh", *words).returncode, 2, words)
        self.assertEqual(self.calls_of("sbatch"), [])


class Gate(Workplace):
    def test_adds_its_files_to_the_options(self):
        done = self.run_script("gate.sh", "--baseline", "base line.json", GATE_RESULTS="my gate")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual(self.calls_of("fmha_bwd"),
                         [["bench", "--baseline", "base line.json", "--output", "my gate/results.json", "--junit",
                           "my gate/junit.xml", "--markdown", "my gate/summary.md"]])

    def test_puts_the_summary_on_the_page_of_the_job_whatever_it_says(self):
        for code in ("0", "4", "5"):
            page = self.folder / f"page{code}"
            page.write_text("before\n")
            self.run_script("gate.sh", EXIT_CODE=code, GITHUB_STEP_SUMMARY=str(page))
            self.assertEqual(page.read_text(), "before\n# summary\n")

    def test_fails_where_something_is_slower(self):
        done = self.run_script("gate.sh", EXIT_CODE="4")
        self.assertEqual(done.returncode, 4)
        self.assertIn("::error", done.stdout)

    def test_only_warns_where_it_is_unclear(self):
        done = self.run_script("gate.sh", EXIT_CODE="5")
        self.assertEqual(done.returncode, 0)
        self.assertIn("::warning", done.stdout)

    def test_fails_of_everything_else(self):
        for code in (1, 2, 3, 6, 139):
            done = self.run_script("gate.sh", EXIT_CODE=str(code))
            self.assertEqual(done.returncode, code)
            self.assertIn(f"exit code {code}", done.stdout)

    def test_shows_no_summary_of_an_earlier_run(self):
        (self.folder / "gate").mkdir()
        (self.folder / "gate" / "summary.md").write_text("of yesterday")
        page = self.folder / "page"
        self.run_script("gate.sh", FMHA_BWD="false", GITHUB_STEP_SUMMARY=str(page))
        self.assertFalse(page.exists())


@unittest.skipUnless(importlib.util.find_spec("yaml"), "PyYAML is not installed")
class GitHubActions(unittest.TestCase):
    def load(self, name):
        import yaml
        return yaml.safe_load((WORKFLOWS / name).read_text())

    def test_every_job_has_a_runner_and_steps_that_do_one_thing(self):
        for path in WORKFLOWS.glob("*.yml"):
            for name, job in self.load(path.name)["jobs"].items():
                self.assertIn("runs-on", job, f"{path.name}: {name}")
                for step in job["steps"]:
                    self.assertEqual(("run" in step) + ("uses" in step), 1, f"{path.name}: {name}: {step}")

    def test_every_run_step_is_a_shell_script(self):
        for path in WORKFLOWS.glob("*.yml"):
            for job in self.load(path.name)["jobs"].values():
                for step in job["steps"]:
                    checked = subprocess.run(["bash", "-n"], input=step.get("run", ""), text=True,
                                             capture_output=True)
                    self.assertEqual(checked.returncode, 0, checked.stderr)
                    # Its value would be part of the script.
                    self.assertNotIn("${{", step.get("run", ""), path.name)

    def test_files_that_they_name_are_there(self):
        root = WORKFLOWS.parents[1]
        gate = (WORKFLOWS / "github_actions_gate.yml").read_text()
        for name in ("scripts/workflows/gate.sh", "bench/cases/gate.txt"):
            self.assertIn(name, gate)
            self.assertTrue((root / name).is_file(), name)


@unittest.skipUnless(shutil.which("shellcheck"), "shellcheck is not installed")
class ShellScripts(unittest.TestCase):
    def test_have_nothing_that_shellcheck_finds(self):
        scripts = sorted(map(str, WORKFLOWS.glob("*.sh")))
        checked = subprocess.run(["shellcheck", *scripts], capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout)


if __name__ == "__main__":
    unittest.main()
