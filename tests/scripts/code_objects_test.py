"""Tests of scripts/code_objects.py on what the platforms' tools print."""
import contextlib
import io
import json
import struct
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import code_objects  # noqa: E402

# cuobjdump -sass -res-usage of a loop with two HMMA and a load and a store of local memory, and of a second kernel.
SASS = """\

member libkernels.a:small.o:

Fatbin elf code:
================
arch = sm_80
code version = [1,8]
host = linux
compile_size = 64bit

Resource usage:
 Common:
  GLOBAL:0
 Function _Z4fillIfEvPT_:
  REG:24 STACK:0 SHARED:256 LOCAL:0 CONSTANT[0]:372 TEXTURE:0 SURFACE:0 SAMPLER:0
 Function small:
  REG:27 STACK:16 SHARED:0 LOCAL:0 CONSTANT[0]:372 TEXTURE:0 SURFACE:0 SAMPLER:0

	code for sm_80
	.target	sm_80

		Function : _Z4fillIfEvPT_
	.headerflags	@"EF_CUDA_SM80 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM80)"
        /*0000*/                   EXIT ;                                         /* 0x000000000000794d */
                                                                                  /* 0x000fea0003800000 */
		..........

		Function : small
	.headerflags	@"EF_CUDA_SM80 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM80)"
        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;        /* 0x00000a00ff017624 */
                                                                                  /* 0x000fe400078e00ff */
        /*0010*/                   STL [R1], R0 ;                                 /* 0x0000000001007387 */
        /*00f0*/              @!P0 BRA 0x2c0 ;                                    /* 0x000001c000008947 */
        /*0190*/                   UMOV UR5, 0x2 ;                                /* 0x0000000200057882 */
        /*01e0*/                   LDG.E R12, [R18.64] ;                          /* 0x00000008120c7981 */
        /*0290*/                   HMMA.16816.F32 R8, R12.reuse, R20, R8 ;        /* 0x000000140c08723c */
        /*02a0*/                   HMMA.16816.F32 R4, R12, R22, R4 ;              /* 0x000000160c04723c */
        /*02b0*/              @!P0 BRA 0x190 ;                                    /* 0xfffffed000008947 */
        /*02c0*/                   LDL R0, [R1] ;                                 /* 0x0000000001007983 */
        /*0310*/                   EXIT ;                                         /* 0x000000000000794d */
        /*0320*/                   BRA 0x320;                                     /* 0xfffffff000007947 */
        /*0330*/                   NOP;                                           /* 0x0000000000007918 */
		..........

Fatbin ptx code:
================
arch = sm_80
"""

# A loop of wgmma whose wait has its slow path behind the kernel's end, from where it jumps back.
HOPPER = """\
arch = sm_90a
 Function small:
  REG:168 STACK:0 SHARED:1024 LOCAL:0 CONSTANT[0]:1536 TEXTURE:0 SURFACE:0 SAMPLER:0
		Function : small
        /*0000*/                   HGMMA.64x64x16.F32 R184, gdesc[UR20], RZ, !UPT ; /* 0x0 */
        /*0010*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR15+0x34870], R5 ; /* 0x0 */
        /*0020*/              @!P0 BRA 0x70 ;                                     /* 0x0 */
        /*0030*/                   HGMMA.64x64x16.F32 R184, gdesc[UR24], R184 ;   /* 0x0 */
        /*0040*/               @P1 BRA 0x10 ;                                     /* 0x0 */
        /*0050*/                   HGMMA.64x64x16.F32 R184, gdesc[UR20], R184, gsb0 ; /* 0x0 */
        /*0060*/                   EXIT ;                                         /* 0x0 */
        /*0070*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR15+0x34870], R5 ; /* 0x0 */
        /*0080*/              @!P0 BRA 0x70 ;                                     /* 0x0 */
        /*0090*/                   BRA 0x30 ;                                     /* 0x0 */
"""

# llvm-readelf --notes.
NOTES = """\
Displaying notes found in: .note
  Owner                Data size 	Description
  AMDGPU               0x000003cf	NT_AMDGPU_METADATA (AMDGPU Metadata)
    AMDGPU Metadata:
        ---
amdhsa.kernels:
  - .agpr_count:     16
    .args:
      - .address_space:  generic
        .name:           out
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 512
    .kernarg_segment_size: 20
    .max_flat_workgroup_size: 1024
    .name:           small
    .private_segment_fixed_size: 20
    .sgpr_count:     14
    .sgpr_spill_count: 3
    .symbol:         small.kd
    .uses_dynamic_stack: false
    .vgpr_count:     272
    .vgpr_spill_count: 7
    .wavefront_size: 64
  - .agpr_count:     0
    .args:           []
    .group_segment_fixed_size: 0
    .name:           other
    .private_segment_fixed_size: 0
    .sgpr_count:     8
    .sgpr_spill_count: 0
    .symbol:         other.kd
    .vgpr_count:     6
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
amdhsa.version:
  - 1
  - 2
...
"""

# llvm-objdump -d --no-show-raw-insn.
MFMA = """\

small.elf:	file format elf64-amdgpu

Disassembly of section .text:

0000000000001800 <small>:
	s_cbranch_scc1 21                                          // 000000001818: BF850015 <small+0x70>
	s_load_dwordx2 s[0:1], s[6:7], 0x0                         // 00000000182C: C0060003 00000000
	s_add_i32 s2, s2, -1                                       // 000000001834: 8102C102
	v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[4:5], v[0:3]     // 000000001850: D3CD0000 04020904
	s_cbranch_scc0 65524                                       // 000000001858: BF84FFF4 <small+0x2c>
	s_endpgm                                                   // 00000000186C: BF810000
	v_mov_b32_e32 v3, 0                                        // 000000001870: 7E060280
	s_endpgm                                                   // 00000000188C: BF810000

0000000000001900 <other>:
	v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[4:5], v[0:3]     // 000000001900: D3CD0000 04020904
	s_endpgm                                                   // 000000001908: BF810000
"""

WMMA = """\
0000000000001900 <small>:
	v_dual_mov_b32 v8, s8 :: v_dual_mov_b32 v9, s9             // 000000001900: CA100008 08080009
	s_delay_alu instid0(VALU_DEP_1)                            // 000000001908: BF870001
	v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[8:15], v[0:7]   // 00000000190C: CC404000 1C021108
	s_cbranch_scc0 65531                                       // 000000001914: BFA1FFFB <small>
	s_endpgm                                                   // 000000001918: BFB00000
	s_code_end                                                 // 00000000191C: BF9F0000
"""


class Nvidia(unittest.TestCase):
    def kernels(self, text):
        return {kernel["kernel"]: kernel for kernel in code_objects.parse_sass(text.splitlines(keepends=True))}

    def test_every_figure_of_each_kernel_is_read(self):
        kernels = self.kernels(SASS)
        self.assertEqual(kernels["small"], {
            "arch": "sm_80", "kernel": "small", "vector": 27, "agpr": None, "scalar": None, "spilled": 2,
            "scalar_spilled": None, "scratch": 16, "shared": 0, "waves": 16, "matrix": 2, "loop": 5})
        self.assertEqual(kernels["_Z4fillIfEvPT_"] | {"vector": 0}, {
            "arch": "sm_80", "kernel": "_Z4fillIfEvPT_", "vector": 0, "agpr": None, "scalar": None, "spilled": 0,
            "scalar_spilled": None, "scratch": 0, "shared": 256, "waves": 16, "matrix": 0, "loop": 0})

    def test_an_architecture_of_another_code_object_is_its_own(self):
        kernels = code_objects.parse_sass((SASS + SASS.replace("sm_80", "sm_90a")).splitlines())
        self.assertEqual(sorted((kernel["arch"], kernel["kernel"]) for kernel in kernels),
                         [("sm_80", "_Z4fillIfEvPT_"), ("sm_80", "small"), ("sm_90a", "_Z4fillIfEvPT_"),
                          ("sm_90a", "small")])

    def test_a_slow_path_behind_the_end_belongs_to_its_loop_and_the_rest_does_not(self):
        small = self.kernels(HOPPER)["small"]
        self.assertEqual((small["matrix"], small["loop"]), (1, 7))

    def test_a_function_whose_registers_are_not_told_is_an_error(self):
        with self.assertRaises(KeyError):
            self.kernels(SASS.replace(" Function small:", " Function other:"))

    def test_warps_of_a_scheduler_follow_from_its_16384_registers(self):
        # 168 registers a thread are 5376 a warp; 65 are allocated as 72, 2304 a warp.
        self.assertEqual(code_objects.nvidia_waves("sm_90a", 168), 3)
        self.assertEqual(code_objects.nvidia_waves("sm_80", 65), 7)
        self.assertEqual(code_objects.nvidia_waves("sm_80", 255), 2)
        self.assertEqual(code_objects.nvidia_waves("sm_80", 16), 16)
        self.assertEqual(code_objects.nvidia_waves("sm_86", 16), 12)
        self.assertIsNone(code_objects.nvidia_waves("sm_999", 16))

    def test_conditional_branches_fall_through_and_others_do_not(self):
        for text, target, falls_through in (("BRA 0x320", 0x320, False), ("@P0 BRA.U.ANY 0x12f0", 0x12f0, True),
                                            ("BRA.U UP0, 0x90", 0x90, True), ("@!UP0 BRA 0x10", 0x10, True),
                                            ("EXIT", None, False), ("@P0 EXIT", None, True),
                                            ("BRX R2 -0x90", None, False), ("CALL.REL.NOINC 0x90", None, True)):
            instruction = code_objects.sass_instruction(text, 0)
            self.assertEqual((instruction.target, instruction.falls_through), (target, falls_through), text)

    def test_matrix_instructions_are_those_of_every_generation(self):
        for text in ("HMMA.16816.F32 R8, R12, R20, R8", "IMMA.16832.S8.S8 R8, R12, R20, R8",
                     "@P0 DMMA.884 R8, R2, R4, R8", "HGMMA.64x64x16.F32 R184, gdesc[UR24], R184",
                     "UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8]"):
            self.assertTrue(code_objects.sass_instruction(text, 0).is_matrix, text)
        for text in ("FFMA R0, R1, R2, R3", "HFMA2 R0, R1, R2, R3", "WARPGROUP.ARRIVE"):
            self.assertFalse(code_objects.sass_instruction(text, 0).is_matrix, text)


class Amd(unittest.TestCase):
    def test_every_figure_of_each_kernel_is_read(self):
        notes = code_objects.parse_notes(NOTES.splitlines(keepends=True))
        code = code_objects.parse_disassembly(MFMA.splitlines(keepends=True))
        self.assertEqual(sorted(notes), ["other", "small"])
        self.assertEqual(code_objects.amd_kernel("gfx942", "small", notes["small"], code["small"]), {
            "arch": "gfx942", "kernel": "small", "vector": 272, "agpr": 16, "scalar": 14, "spilled": 7,
            "scalar_spilled": 3, "scratch": 20, "shared": 512, "waves": 1, "matrix": 1, "loop": 4})
        other = code_objects.amd_kernel("gfx942", "other", notes["other"], code["other"])
        self.assertEqual((other["vector"], other["waves"], other["matrix"], other["loop"]), (6, 8, 0, 0))

    def test_a_loop_may_begin_where_the_kernel_does(self):
        code = code_objects.parse_disassembly(WMMA.splitlines())
        self.assertEqual(code_objects.main_loop(code["small"]), (1, 4))

    def test_only_branches_that_have_conditions_fall_through(self):
        code = code_objects.parse_disassembly(WMMA.replace("s_cbranch_scc0", "s_branch      ").splitlines())["small"]
        self.assertEqual([instruction.falls_through for instruction in code], [True, True, True, False, False, True])
        self.assertEqual(code[3].target, 0x1900)

    def test_waves_follow_from_the_registers_of_a_simd(self):
        for arch, wavefront, registers, waves in (
                ("gfx942", 64, 128, 4), ("gfx942", 64, 129, 3), ("gfx90a", 64, 512, 1), ("gfx950", 64, 24, 8),
                ("gfx908", 64, 128, 2), ("gfx908", 64, 20, 10), ("gfx1100", 32, 179, 8), ("gfx1100", 64, 96, 8),
                ("gfx1201", 32, 256, 5), ("gfx1102", 32, 128, 8), ("gfx1030", 32, 256, 4), ("gfx1010", 32, 24, 20)):
            self.assertEqual(code_objects.amd_waves(arch, wavefront, registers), waves, (arch, registers))
        self.assertIsNone(code_objects.amd_waves("gfx9999", 32, 8))

    def test_code_objects_are_found_in_the_bytes_of_a_library(self):
        def bundle(*entries):
            header = code_objects.BUNDLE + struct.pack("<Q", len(entries))
            offset = len(header) + sum(24 + len(target) for target, _ in entries)
            body = b""
            for target, content in entries:
                header += struct.pack("<QQQ", offset + len(body), len(content), len(target)) + target.encode()
                body += content
            return header + body

        library = (b"!<arch>\n" + bundle(("host-x86_64-unknown-linux-gnu-", b""),
                                         ("hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+", b"first")) +
                   b"between" + bundle(("hipv4-amdgcn-amd-amdhsa--gfx1100", b"second")))
        self.assertEqual(list(code_objects.code_objects_of(library)), [("gfx942", b"first"), ("gfx1100", b"second")])
        self.assertEqual(list(code_objects.code_objects_of(b"no code")), [])


class Table(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def run_main(self, tool, *options):
        """The table, and what went to stderr, where cuobjdump is the shell script `tool`."""
        script = self.folder / "cuobjdump"
        script.write_text(f"#!/bin/sh\n{tool}\n")
        script.chmod(0o755)
        output = self.folder / "table"
        errors = io.StringIO()
        arguments = ["code_objects.py", "nvidia", "--tool", str(script), "--tool", "nvdisasm", "--output", str(output),
                     *options, "lib.a"]
        with mock.patch.object(sys, "argv", arguments), contextlib.redirect_stderr(errors):
            self.assertEqual(code_objects.main(), 0)
        return output.read_text(), errors.getvalue()

    def test_kernels_are_sorted_and_have_families_and_readable_names(self):
        (self.folder / "sass").write_text(
            SASS.replace("REG:24", "REG:64")
            .replace("small", "_ZN8fmha_bwd6nvidia4simt12_GLOBAL__N_111some_kernelINS_4HalfELi64EEEvPT_"))
        text, errors = self.run_main(f"cat {self.folder}/sass")
        table = json.loads(text)
        self.assertEqual((table["platform"], table["missing"], errors), ("nvidia", None, ""))
        self.assertEqual([(kernel["family"], kernel["kernel"]) for kernel in table["kernels"]],
                         [("-", "fill<float>"), ("simt", "some_kernel<Half, 64>")])

    def test_the_family_of_a_matrix_kernel_is_that_of_its_traits(self):
        kernel = "void fmha_bwd::nvidia::matrix::forward_kernel<fmha_bwd::nvidia::mma::Traits, fmha_bwd::Half, 64>(int)"
        self.assertEqual(code_objects.family_of(kernel), "mma")
        self.assertEqual(code_objects.family_of("void fmha_bwd::amd::simt::kernel<fmha_bwd::Half>(int)"), "simt")
        self.assertEqual(code_objects.family_of("void fmha_bwd::amd::fill<float>(float*)"), "-")

    def test_a_tool_that_fails_is_the_reason_why_nothing_is_known(self):
        text, errors = self.run_main("echo one >&2; echo 'cuobjdump fatal: no such file' >&2; exit 255")
        self.assertEqual(json.loads(text), {"platform": "nvidia", "kernels": [],
                                            "missing": "cuobjdump failed: cuobjdump fatal: no such file"})
        self.assertIn("warning", errors)

    def test_output_that_is_not_understood_is_a_reason_too(self):
        for tool in ("true", "printf 'arch = sm_80\\n\\t\\tFunction : small\\n'"):
            table = json.loads(self.run_main(tool)[0])
            self.assertEqual(table["kernels"], [])
            self.assertTrue(table["missing"])

    def test_c_plus_plus_gets_an_element_of_a_list(self):
        text, _ = self.run_main("true", "--raw-string")
        self.assertTrue(text.startswith('R"json({'))
        self.assertTrue(text.endswith('})json",\n'))


if __name__ == "__main__":
    unittest.main()
