#!/usr/bin/env python3
"""Estimates how busy AMD's matrix cores are in the main loop of the dQ, dK, dV kernels, without a GPU.

An estimate, no measurement: llvm-mca walks once round the loop after the other with LLVM's model of the architecture.
One wave is alone on its SIMD there, memory answers in its nominal latency, banks have no conflicts, and no wave waits
for another at a barrier.

The assembly is that of the target kernel_resources of a build folder (those of the sources below, which are compiled
if need be), or --assembly. Of the loop's ways it takes the one with most matrix instructions, exponentials, accesses of
global memory and writes to shared memory, and of these the shortest: the tile that no mask cuts (a mask reads shared
memory), not the last of a walk. Columns, of one wave and tile:

    matrix, exp, ds read, ds write, global, scratch, VALU, SALU, wait
                   instructions; wait has barriers and s_nop too
    LDS bytes      that a lane reads and writes in shared memory
    matrix cycles  in which the matrix cores are busy
    all cycles     of the tile
    share          matrix cycles of all

A cycle is an instruction's issue: 4 clocks with CDNA's waves of 64, 1 with RDNA's of 32. CDNA's matrix instructions
take as many passes of 4 clocks as LLVM's model says. RDNA's WMMA is as short as any other instruction in that model;
here it takes 32 clocks on gfx11 and 16 on gfx12, for 512 and 1024 FLOP a clock and compute unit, and nothing else of
the wave runs beside it.
"""
import argparse
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from kernel_resources import print_cells, readable
from main_loop import Instruction, main_path

SOURCES = {"gfx90a": "kernels/cdna/plain_dq_dk_dv.hip", "gfx942": "kernels/cdna/plain_dq_dk_dv.hip",
           "gfx950": "kernels/cdna/plain_dq_dk_dv.hip", "gfx1100": "kernels/rdna/gfx11_plain_dq_dk_dv.hip",
           "gfx1201": "kernels/rdna/gfx12_plain_dq_dk_dv.hip"}
WMMA_CLOCKS = {"gfx11": 32, "gfx12": 16}  # 2 * 16^3 FLOP at 256 and 512 a clock and SIMD
KINDS = ["matrix", "exp", "ds read", "ds write", "global", "scratch", "VALU", "SALU", "wait"]
COLUMNS = ["arch", "kernel", *KINDS, "LDS bytes", "matrix cycles", "all cycles", "share"]
ROUNDS = 10
SECONDS = 60  # llvm-mca of LLVM 22 never ends on some code


class Failed(Exception):
    """Why there is no estimate, in one line."""


@dataclass
class Line(Instruction):
    text: str = ""


def kind_of(opcode):
    for kind, pattern in {"matrix": "v_(mfma|smfmac|wmma|swmmac)_", "exp": "v_exp_", "ds read": "ds_(read|load)",
                          "ds write": "ds_(write|store)", "global": "global_|flat_", "scratch": "scratch_|buffer_",
                          "wait": "s_(wait|nop|barrier|delay_alu)", "SALU": "s_"}.items():
        if re.match(pattern, opcode):
            return kind
    return "VALU"  # ds_bpermute and the like among them


def lds_bytes(opcode):
    """Bytes of a lane: 16 of ds_read_b128, 8 of ds_read2_b32, 2 of ds_write_b16_d16_hi."""
    found = re.match(r"ds_(?:read|write|load|store)(?:_2addr|(2))?(?:st64)?_(?:[bui])(\d+)", opcode)
    if not found:
        return 0
    return int(found[2]) // 8 * (2 if found[1] or "_2addr" in opcode else 1)


def matters(line):
    return kind_of(line.text.split()[0]) in ("matrix", "exp", "ds write", "global", "scratch")


def kernels_of(assembly):
    """The code of each kernel of an assembly text, by its name."""
    kernels = {}
    names = set(re.findall(r"^\s*\.amdhsa_kernel (\S+)", assembly, re.MULTILINE))
    code, labels = None, {}
    for text in assembly.splitlines():
        if label := re.match(r"([\w.$]+):", text):
            if label[1] in names:
                code = kernels[label[1]] = []
            elif label[1].startswith(".Lfunc_end"):
                code = None
            elif code is not None:
                labels[label[1]] = len(code)
        elif code is not None and (instruction := re.match(r"\t([vsdgfb][a-z0-9]*_\w+[^;]*)", text)):
            code.append(instruction[1].strip())
    return {name: [line_of(i, text, labels) for i, text in enumerate(code)] for name, code in kernels.items()}


def line_of(address, text, labels):
    opcode = text.split()[0]
    target = labels.get(text.split()[-1]) if re.match("s_c?branch", opcode) else None
    return Line(address, kind_of(opcode) == "matrix", target, not re.match("s_(branch|endpgm|setpc)", opcode), text)


def analysed(mca, arch, path, left_out="s_c?branch|s_barrier"):
    """Cycles of a round, and those of the matrix cores' resource, as llvm-mca has them; nothing where it does not
    end."""
    code = "\n".join(line.text for line in path if not re.match(left_out, line.text)) + "\n"
    try:
        ran = subprocess.run([mca, "-mtriple=amdgcn", f"-mcpu={arch}", f"-iterations={ROUNDS}", "-json"], input=code,
                             capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None
    if ran.returncode != 0:
        raise Failed(f"{Path(mca).name} failed: {(ran.stderr.splitlines() or ['without a word'])[0]}")
    region = json.loads(ran.stdout)["CodeRegions"][0]
    resources = json.loads(ran.stdout)["TargetInfo"]["Resources"]
    of_all = len(region["Instructions"])  # the sum of all instructions stands behind the last
    pressure = {resources[use["ResourceIndex"]]: use["ResourceUsage"]
                for use in region["ResourcePressureView"]["ResourcePressureInfo"] if use["InstructionIndex"] == of_all}
    return region["SummaryView"]["TotalCycles"] / ROUNDS, pressure.get("HWXDL", 0.0)


def estimate(mca, arch, path):
    """A row of the table."""
    kinds = Counter(kind_of(line.text.split()[0]) for line in path)
    found = analysed(mca, arch, path)
    without_waits = found is None
    found = found or analysed(mca, arch, path, "s_c?branch|s_barrier|s_wait")
    if found is None:
        raise Failed(f"{Path(mca).name} does not end on {arch}")
    everything, matrix = found
    if clocks := WMMA_CLOCKS.get(arch[:5]):
        matrix = kinds["matrix"] * clocks
        everything += kinds["matrix"] * (clocks - 1)
    return {"arch": arch, **{kind: kinds[kind] for kind in KINDS}, "matrix cycles": round(matrix),
            "LDS bytes": sum(lds_bytes(line.text.split()[0]) for line in path), "all cycles": round(everything),
            "share": f"{matrix / everything:.0%}" + "*" * without_waits}


def compiled(build, arch):
    """The assembly of the architecture's plain dQ, dK, dV kernels, from a build folder."""
    if arch not in SOURCES:
        raise Failed(f"no source has matrix kernels for {arch}; there are {', '.join(SOURCES)}")
    target = "kernel_resources_" + re.sub(r"\W", "_", f"{arch}_{SOURCES[arch]}")
    if subprocess.run(["cmake", "--build", build, "--target", target], stdout=sys.stderr, check=False).returncode != 0:
        raise Failed(f"{build} cannot build {target}")
    return build / "resources" / "amd" / arch / f"{SOURCES[arch]}.txt.code"


def llvm_mca(build):
    """The llvm-mca beside the build's compiler for AMD, or that on PATH."""
    cache = build / "CMakeCache.txt"
    tool = re.search(r"^FMHA_BWD_LLVM_READELF:\w+=(.*)$", cache.read_text() if cache.exists() else "", re.MULTILINE)
    beside = Path(tool[1]).with_name("llvm-mca") if tool else Path()
    return str(beside) if beside.is_file() else shutil.which("llvm-mca-22") or shutil.which("llvm-mca") or "llvm-mca"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default="build/release", type=Path, help="a configured build folder")
    parser.add_argument("--arch", action="append", help="only this architecture; may be repeated")
    parser.add_argument("--kernel", default="", help="only kernels whose name contains this")
    parser.add_argument("--assembly", type=Path, metavar="FILE", help="read this, of the one --arch")
    parser.add_argument("--mca", metavar="PROGRAM", help="the llvm-mca to run")
    arguments = parser.parse_args()
    architectures = arguments.arch or list(SOURCES)
    if arguments.assembly and len(architectures) != 1:
        parser.error("--assembly needs one --arch")

    rows = []
    try:
        mca = arguments.mca or llvm_mca(arguments.build)
        for arch in architectures:
            kernels = kernels_of((arguments.assembly or compiled(arguments.build, arch)).read_text())
            for name, short in zip(kernels, readable(list(kernels))):
                path = main_path(kernels[name], matters)
                if path and arguments.kernel in short:
                    rows.append({"kernel": short} | estimate(mca, arch, path))
    except (Failed, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    if not rows:
        print("no such kernel has a loop with matrix instructions", file=sys.stderr)
        return 3
    print_cells([COLUMNS] + [[str(row[column]) for column in COLUMNS] for row in rows], left=2)
    print(f"\nEstimated by llvm-mca, one wave alone on a SIMD, {ROUNDS} rounds; nothing was measured")
    if any(row["share"].endswith("*") for row in rows):
        print(f"*: without waits for memory: with them llvm-mca did not end in {SECONDS} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
