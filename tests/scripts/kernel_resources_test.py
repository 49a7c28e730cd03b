"""Tests of scripts/kernel_resources.py on what the compilers print."""
import importlib.util
import tempfile
import unittest
from pathlib import Path

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


class Reports(unittest.TestCase):
    def test_platform_and_architecture_are_the_folders(self):
        with tempfile.TemporaryDirectory() as name:
            for folder, text in (("amd/gfx942", CLANG_22), ("nvidia/sm_80", PTXAS)):
                path = Path(name, folder, "kernels")
                path.mkdir(parents=True)
                (path / "fill.hip.txt").write_text(text)
            rows = kernel_resources.collect(Path(name))
        self.assertEqual([(row["platform"], row["arch"], row["spilled"]) for row in rows],
                         [("amd", "gfx942", 7), ("nvidia", "sm_80", 212), ("nvidia", "sm_80", 0)])

    def test_names_lose_namespaces_and_arguments(self):
        mangled = "_ZN8fmha_bwd3amd4simt12_GLOBAL__N_116dq_dk_dv_kernelAINS_4HalfELi64EEEvPT_"
        self.assertEqual(kernel_resources.readable([mangled]), ["dq_dk_dv_kernelA<Half, 64>"])


if __name__ == "__main__":
    unittest.main()
