"""Tests of scripts/matrix_cycles.py on a small made-up kernel."""
import contextlib
import io
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import matrix_cycles  # noqa: E402

# A loop of two MFMA that loads where there is a next tile, and hides scores where the tile is cut.
ASSEMBLY = """\
	.text
_Z4walkPf:                              ; @_Z4walkPf
; %bb.0:
	s_load_dwordx2 s[0:1], s[4:5], 0x0
	v_mov_b32_e32 v0, 0
.LBB0_1:                                ; =>This Inner Loop Header: Depth=1
	s_cbranch_scc1 .LBB0_3
; %bb.2:                                ;   in Loop: Header=BB0_1 Depth=1
	global_load_dwordx4 v[20:23], v[0:1], off
.LBB0_3:                                ;   in Loop: Header=BB0_1 Depth=1
	ds_read_b128 v[8:11], v1 offset:16      ; 16 bytes
	s_waitcnt lgkmcnt(0)
	v_mfma_f32_16x16x16_f16 v[4:7], v[8:9], v[10:11], v[4:7]
	s_cbranch_vccz .LBB0_5
; %bb.4:                                ;   in Loop: Header=BB0_1 Depth=1
	v_cndmask_b32_e64 v4, 0, v4, s[0:1]
.LBB0_5:                                ;   in Loop: Header=BB0_1 Depth=1
	v_exp_f32_e32 v4, v4
	ds_write2_b32 v1, v4, v5 offset1:1
	v_mfma_f32_16x16x16_f16 v[12:15], v[8:9], v[10:11], v[12:15]
	s_add_i32 s2, s2, 1
	s_barrier
	s_cbranch_scc0 .LBB0_1
; %bb.6:
	s_endpgm
.Lfunc_end0:
	.amdhsa_kernel _Z4walkPf
	.end_amdhsa_kernel
_ZN4nameE:
	.quad 0
"""
OPCODES = ["s_cbranch_scc1", "global_load_dwordx4", "ds_read_b128", "s_waitcnt", "v_mfma_f32_16x16x16_f16",
           "s_cbranch_vccz", "v_exp_f32_e32", "ds_write2_b32", "v_mfma_f32_16x16x16_f16", "s_add_i32", "s_barrier",
           "s_cbranch_scc0"]

MCA = """{"CodeRegions": [{"Instructions": ["a", "b"], "SummaryView": {"TotalCycles": 800},
  "ResourcePressureView": {"ResourcePressureInfo": [
    {"InstructionIndex": 0, "ResourceIndex": 1, "ResourceUsage": 4.0},
    {"InstructionIndex": 2, "ResourceIndex": 0, "ResourceUsage": 7.0},
    {"InstructionIndex": 2, "ResourceIndex": 1, "ResourceUsage": 8.0}]}}],
 "TargetInfo": {"Resources": ["HWVALU", "HWXDL"]}}"""


def path_of(assembly):
    (code,) = matrix_cycles.kernels_of(assembly).values()
    return matrix_cycles.main_path(code, matrix_cycles.matters)


class Way(unittest.TestCase):
    def test_it_is_the_way_that_loads_and_hides_nothing(self):
        self.assertEqual([line.text.split()[0] for line in path_of(ASSEMBLY)], OPCODES)

    def test_code_without_matrix_instructions_has_none(self):
        self.assertEqual(path_of(ASSEMBLY.replace("v_mfma_f32_16x16x16_f16", "v_pk_fma_f32")), [])


class Instructions(unittest.TestCase):
    def test_each_is_of_one_kind(self):
        kinds = {"v_mfma_f32_16x16x16_bf16": "matrix", "v_wmma_f32_16x16x16_f16": "matrix", "v_exp_f32_e32": "exp",
                 "ds_read_b64": "ds read", "ds_load_b128": "ds read", "ds_store_b32": "ds write",
                 "global_atomic_add_f32": "global", "scratch_load_dword": "scratch", "v_perm_b32": "VALU",
                 "ds_bpermute_b32": "VALU", "s_waitcnt": "wait", "s_wait_dscnt": "wait", "s_mul_i32": "SALU"}
        self.assertEqual({opcode: matrix_cycles.kind_of(opcode) for opcode in kinds}, kinds)

    def test_bytes_in_shared_memory_are_those_of_the_name(self):
        sizes = {"ds_read_b128": 16, "ds_read2_b32": 8, "ds_read2st64_b64": 16, "ds_load_2addr_b64": 16,
                 "ds_load_u16_d16_hi": 2, "ds_write_b16_d16_hi": 2, "ds_store_b64": 8, "ds_bpermute_b32": 0}
        self.assertEqual({opcode: matrix_cycles.lds_bytes(opcode) for opcode in sizes}, sizes)


class Estimate(unittest.TestCase):
    def run_main(self, arch, mca=MCA, code=0, endless=""):
        """The exit code, and the columns of the one kernel."""
        with tempfile.TemporaryDirectory() as folder:
            assembly = Path(folder) / "kernel.s"
            assembly.write_text(ASSEMBLY)
            output = io.StringIO()
            answer = mock.Mock(returncode=code, stdout=mca, stderr="error: no such thing\n")
            argv = ["matrix_cycles.py", folder, "--assembly", str(assembly), "--arch", arch, "--mca", "llvm-mca"]
            run = matrix_cycles.subprocess.run

            def replaced(command, **options):
                if command[0] != "llvm-mca":
                    return run(command, **options)
                if endless and endless in options["input"]:
                    raise subprocess.TimeoutExpired(command, options["timeout"])
                return answer

            with (mock.patch.object(sys, "argv", argv), mock.patch("subprocess.run", replaced),
                  contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO())):
                code = matrix_cycles.main()
        lines = output.getvalue().splitlines()
        return code, lines[1].split()[-4:] if lines else []

    def test_cdna_has_the_passes_of_the_model(self):
        self.assertEqual(self.run_main("gfx942"), (0, ["24", "8", "80", "10%"]))

    def test_waits_are_left_out_where_llvm_mca_does_not_end_with_them(self):
        self.assertEqual(self.run_main("gfx950", endless="s_waitcnt"), (0, ["24", "8", "80", "10%*"]))
        self.assertEqual(self.run_main("gfx950", endless="v_mfma"), (2, []))

    def test_rdna_has_documented_clocks_on_top_of_the_model(self):
        self.assertEqual(self.run_main("gfx1100"), (0, ["24", "64", "142", "45%"]))
        self.assertEqual(self.run_main("gfx1201"), (0, ["24", "32", "110", "29%"]))

    def test_a_failure_of_llvm_mca_is_told(self):
        self.assertEqual(self.run_main("gfx942", code=1), (2, []))

    @unittest.skipUnless(shutil.which("llvm-mca-22"), "no llvm-mca-22")
    def test_llvm_mca_knows_the_passes(self):
        cycles, matrix = matrix_cycles.analysed("llvm-mca-22", "gfx942", path_of(ASSEMBLY))
        self.assertEqual(matrix, 8)  # two of four passes
        self.assertGreater(cycles, matrix)


if __name__ == "__main__":
    unittest.main()
