"""Tests of scripts/kernel_resources.py on what the compilers print."""
import contextlib
import importlib.util
import io
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

SCRIPT = Path(__file__).parents[2] / "scripts" / "kernel_resources.py"
spec = importlib.util.spec_from_file_location("kernel_resources", SCRIPT)
kernel_resources = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernel_resources)

CLANG_22 = """\
/src/kernels/fill.hip:20:1: remark: Function Name: _Z4fillIfEvPT_ [-Rpass-analysis=kernel-resource-usage]
   20 | __global__ void fill(T* data) {
      | ^
/src/kernels/fill.hip:20:1: remark:     TotalSGPRs: 106 [-Rpass-analysis=kernel-resource-usage]
/src/kernels/fill.hip:20:1: remark:     VGPRs: 176 [-Rpass-analysis=kernel-resource-usage]
/src/kernels/fill.hip:20:1: remark:     AGPRs: 4 [-Rpass-analysis=kernel-resource-usage]
/src/kernels/fill.hip:20:1: remark:     ScratchSize [bytes/lane]: 32 [-Rpass-analysis=kernel-resource-usage]
/src/kernels/fill.hip:20:1: remark:     Dynamic Stack: False [-Rpass-analysis=kernel-resource-usage]
/src/kernels/fill.hip:20:1: remark:     Occupancy [waves/SIMD]: 2 [-Rpass-analysis=kernel-resource-usage]
/src/kernels/fill.hip:20:1: remark:     SGPRs Spill: 80 [-Rpass-analysis=kernel-resource-usage]
/src/kernels/fill.hip:20:1: remark:     VGPRs Spill: 7 [-Rpass-analysis=kernel-resource-usage]
/src/kernels/fill.hip:20:1: remark:     LDS Size [bytes/block]: 512 [-Rpass-analysis=kernel-resource-usage]
"""
CLANG_19 = CLANG_22.replace("TotalSGPRs", "SGPRs")

PTXAS = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z4fillIfEvPT_' for 'sm_80'
ptxas info    : Function properties for _Z4fillIfEvPT_
    208 bytes stack frame, 212 bytes spill stores, 904 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, 208 bytes cumulative stack size, 256 bytes smem, 760 bytes cmem[0]
ptxas info    : Compile time = 214.115 ms
ptxas info    : Compiling entry function '_Z5otherPf' for 'sm_80'
ptxas info    : Function properties for _Z5otherPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers, 360 bytes cmem[0]
"""

SERIALISED = """\
ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count \
at entry.
ptxas info    : (C7519) warpgroup.arrive is injected in around line 45 by compiler to allow use of registers \
in GMMA in function '_Z4fillIfEvPT_'
ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized due to \
insufficient register resources for the wgmma pipeline in the function '_Z4fillIfEvPT_'
"""


class Clang(unittest.TestCase):
    def test_every_figure_of_a_kernel_is_read(self):
        for text in (CLANG_22, CLANG_19):
            self.assertEqual(kernel_resources.parse_amd(text), [
                {"kernel": "_Z4fillIfEvPT_", "vector": 176, "agpr": 4, "scalar": 106, "spilled": 7,
                 "scalar spilled": 80, "scratch": 32, "shared": 512, "waves": 2}])

    def test_kernels_stay_apart(self):
        second = CLANG_22.replace("_Z4fillIfEvPT_", "_Z5otherPf").replace("VGPRs: 176", "VGPRs: 5")
        kernels = kernel_resources.parse_amd(CLANG_22 + second)
        self.assertEqual([(kernel["kernel"], kernel["vector"]) for kernel in kernels],
                         [("_Z4fillIfEvPT_", 176), ("_Z5otherPf", 5)])


class Ptxas(unittest.TestCase):
    def test_every_figure_of_each_kernel_is_read(self):
        self.assertEqual(kernel_resources.parse_nvidia(PTXAS), [
            {"kernel": "_Z4fillIfEvPT_", "vector": 128, "spilled": 212, "scratch": 208, "shared": 256},
            {"kernel": "_Z5otherPf", "vector": 24, "spilled": 0, "scratch": 0, "shared": 0}])

    def test_a_kernel_without_fault_has_no_remark(self):
        self.assertEqual(kernel_resources.nvidia_remarks(PTXAS), [])

    def test_remarks_on_wgmma_and_setmaxnreg_are_read_once_each(self):
        remarks = kernel_resources.nvidia_remarks(SERIALISED + PTXAS + SERIALISED)
        self.assertEqual([remark[:5] for remark in remarks], ["C7508", "C7519", "C7511"])
        self.assertEqual(remarks[0], "C7508 Potential Performance Loss: 'setmaxnreg' ignored; unable to determine "
                                     "register count at entry.")


class Reports(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.build = Path(temporary.name)

    def add(self, report, text):
        path = self.build / "resources" / report
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_main(self, *options):
        """The exit code, and what went to stdout; the reports stand, and nothing is built."""
        really_run = subprocess.run

        def run(command, **options):
            if command[0] == "cmake":
                return subprocess.CompletedProcess(command, 0)
            return really_run(command, **options)

        output = io.StringIO()
        with (mock.patch.object(sys, "argv", ["kernel_resources.py", str(self.build), *options]),
              mock.patch.object(subprocess, "run", run), contextlib.redirect_stdout(output),
              contextlib.redirect_stderr(io.StringIO())):
            return kernel_resources.main(), output.getvalue()

    def test_platform_architecture_and_family_are_the_folders(self):
        self.add("amd/gfx942/kernels/fill.hip.txt", CLANG_22)
        self.add("nvidia/sm_80/kernels/simt/forward.hip.txt", PTXAS)
        rows = kernel_resources.collect(self.build / "resources")
        columns = ("platform", "arch", "family", "spilled")
        self.assertEqual([tuple(row[column] for column in columns) for row in rows],
                         [("amd", "gfx942", "-", 7), ("nvidia", "sm_80", "simt", 212),
                          ("nvidia", "sm_80", "simt", 0)])

    def test_a_family_is_shown_alone(self):
        self.add("nvidia/sm_90a/kernels/hopper/forward.hip.txt", PTXAS)
        self.add("nvidia/sm_90a/kernels/simt/forward.hip.txt", SERIALISED + PTXAS)
        code, output = self.run_main("--family", "hopper", "--strict")
        self.assertEqual(code, 0)
        self.assertIn("hopper", output)
        self.assertNotIn("simt", output)

    def test_remarks_stand_below_the_table_and_fail_only_where_that_is_strict(self):
        self.add("nvidia/sm_90a/kernels/hopper/forward.hip.txt", SERIALISED + PTXAS)
        code, output = self.run_main()
        self.assertEqual(code, 0)
        self.assertIn("\nsm_90a, hopper: C7511 ", output)
        self.assertIn("in the function 'fill<float>'\n", output)
        self.assertEqual(self.run_main("--strict"), (1, output))

    def test_a_remark_on_another_kernel_does_not_fail(self):
        named = SERIALISED[SERIALISED.index("ptxas info    : (C7519)"):]
        self.add("nvidia/sm_90a/kernels/hopper/forward.hip.txt", named + PTXAS)
        self.assertEqual(self.run_main("--strict", "--kernel", "other")[0], 0)
        self.assertEqual(self.run_main("--strict", "--kernel", "fill")[0], 1)

    def test_spills_fail_beyond_their_limit(self):
        self.add("nvidia/sm_90a/kernels/hopper/forward.hip.txt", PTXAS)
        self.assertEqual(self.run_main("--max-spills", "211")[0], 1)
        self.assertEqual(self.run_main("--max-spills", "212")[0], 0)
        self.assertEqual(self.run_main("--max-spills", "0", "--kernel", "other")[0], 0)

    def test_names_lose_namespaces_and_arguments(self):
        mangled = "_ZN8fmha_bwd3amd4simt12_GLOBAL__N_116dq_dk_dv_kernelAINS_4HalfELi64EEEvPT_"
        self.assertEqual(kernel_resources.readable([mangled]), ["dq_dk_dv_kernelA<Half, 64>"])

    def test_matrix_kernels_lose_what_follows_from_the_rest_of_their_names(self):
        sizes = "fmha_bwd::amd::matrix::Backward<fmha_bwd::amd::rdna::Unit<fmha_bwd::Half, false>, 64, Sizes{32, 1} > >"
        for traits in ("cdna::Traits", "rdna::Of<false>"):
            self.assertEqual(kernel_resources.short_name(
                f"void fmha_bwd::amd::matrix::dq_dk_dv_kernel<fmha_bwd::amd::{traits}, fmha_bwd::Half, 64, true, "
                f"{sizes}"
                "(fmha_bwd::amd::matrix::Arguments<fmha_bwd::Half>)"), "dq_dk_dv_kernel<Half, 64, true>")


if __name__ == "__main__":
    unittest.main()
