#!/usr/bin/env python3
"""What every kernel in the code objects of static libraries needs, as JSON.

The numbers are read from the machine code that is linked, by the platform's own tools:

    code_objects.py nvidia --tool cuobjdump --tool nvdisasm --output FILE LIBRARY...
    code_objects.py amd --tool llvm-readelf --tool llvm-objdump --output FILE LIBRARY...

FILE gets {"platform", "missing", "kernels"}: why there are no numbers (null where there are), and one object a kernel:

    arch, family       gfx942; simt ("-" outside all families)
    kernel             its name and template arguments
    vector             vector registers a thread; on gfx90a, gfx942 and gfx950 the accumulation registers among them
    agpr               accumulation registers a thread (AMD)
    scalar             scalar registers a wave (AMD)
    spilled            AMD: vector registers; NVIDIA: instructions that load or store local memory
    scalar_spilled     scalar registers, which go to vector registers (AMD)
    scratch            bytes of stack or scratch memory a thread
    shared             static bytes a workgroup, and from sm_90 on the 1024 that the system keeps of each; what a launch
                       adds to them stands in no code object
    waves              most waves or warps at a time on a SIMD or scheduler, as registers alone limit them
    matrix, loop       matrix instructions in the main loop (see main_loop.py), and all instructions there

What a platform does not have is null. A tool that fails is no error, but the reason in "missing", and a warning.
"""
import argparse
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from kernel_resources import demangled, short_name
from main_loop import Instruction, main_loop

BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
# In what cuobjdump prints: address and instruction; the function that they are of.
SASS_INSTRUCTION = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+([^;]+?)\s*;")
SASS_FUNCTION = re.compile(r"\s*Function : (\S+)")


class Unreadable(Exception):
    """Why the code objects could not be read, in one line."""


def lines_of(command, environment=None):
    """The lines that `command` prints. Raises Unreadable where it fails."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as complaints:
        try:
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, encoding="utf-8",
                                  env=environment) as process:
                yield from process.stdout
        except OSError as error:
            raise Unreadable(f"{command[0]}: {error.strerror}") from error
        complaints.seek(0)
        last = (complaints.read().splitlines() or [f"exit code {process.returncode}"])[-1]
    if process.returncode != 0:
        raise Unreadable(f"{Path(command[0]).name} failed: {last.strip()}")


def family_of(name):
    """"simt" of a demangled fmha_bwd::nvidia::simt::kernel<...>, "mma" of fmha_bwd::nvidia::matrix::kernel<
    fmha_bwd::nvidia::mma::Traits, ...>; "-" where no namespace of the platform holds it."""
    name = name.replace("(anonymous namespace)::", "")
    found = re.match(r"(?:void )?fmha_bwd::\w+::matrix::\w+<fmha_bwd::\w+::(\w+)::", name)
    found = found or re.match(r"(?:void )?fmha_bwd::\w+::(\w+)::", name)
    return found[1] if found else "-"


# NVIDIA

# The most warps that a multiprocessor holds, a quarter of it a scheduler: CUDA C++ Programming Guide, Technical
# Specifications per Compute Capability.
NVIDIA_WARPS = {"75": 32, "80": 64, "86": 48, "87": 48, "89": 48, "90": 64, "100": 64, "103": 64, "120": 48, "121": 48}


def nvidia_waves(arch, registers):
    """Warps a scheduler. It has 16384 registers, a quarter of the multiprocessor's, and a warp gets a multiple of 256
    (the same guide's register allocation: 8 a thread)."""
    warps = NVIDIA_WARPS.get(re.sub(r"^sm_|[af]$", "", arch))
    per_warp = 32 * 8 * -(-max(registers, 1) // 8)
    return min(warps // 4, 16384 // per_warp) if warps else None


def sass_instruction(text, address):
    """One instruction of SASS: "@!P0 BRA 0x2b40"."""
    guard = re.match(r"@!?U?P\w+\s+", text)
    text = text[guard.end():] if guard else text
    opcode, _, operands = text.partition(" ")
    base = opcode.split(".")[0]
    if base in ("BRA", "JMP"):
        # BRA.U UP0, BRA.DIV R4 and BRA P1 have conditions of their own, before the target.
        found = re.search(r"0x([0-9a-f]+)$", operands.strip())
        conditional = guard or "," in operands
        return Instruction(address, target=int(found[1], 16) if found else None, falls_through=bool(conditional))
    ends = base in ("EXIT", "RET", "BRX", "BRXU", "JMX", "JMXU", "KILL")
    return Instruction(address, is_matrix=bool(re.fullmatch(r"[A-Z]+MMA", base)), falls_through=bool(guard) or not ends)


def parse_sass(lines):
    """Kernels of what `cuobjdump -sass -res-usage` prints."""
    kernels, usage, arch, described, function, code, local = {}, {}, None, None, None, [], 0

    def finish():
        if function:
            used = usage[arch, function]
            matrix, loop = main_loop(code)
            kernels[arch, function] = {
                "arch": arch, "kernel": function, "vector": used["REG"], "agpr": None, "scalar": None, "spilled": local,
                "scalar_spilled": None, "scratch": used["STACK"], "shared": used["SHARED"],
                "waves": nvidia_waves(arch, used["REG"]), "matrix": matrix, "loop": loop}

    for line in lines:
        if instruction := SASS_INSTRUCTION.match(line):
            code.append(sass_instruction(instruction[2], int(instruction[1], 16)))
            local += bool(re.search(r"\b(?:STL|LDL)\b", instruction[2]))
        elif heading := SASS_FUNCTION.match(line):
            finish()
            function, code, local = heading[1], [], 0
        elif used := re.match(r" Function (\S+):$", line):
            described = used[1]
        elif "REG:" in line:
            usage[arch, described] = {key: int(value) for key, value in re.findall(r"(\w+):(\d+)", line)}
        elif found := re.match(r"arch = (\S+)", line):
            finish()
            arch, function = found[1], None
    finish()
    return list(kernels.values())


def read_nvidia(libraries, cuobjdump, nvdisasm):
    environment = os.environ | {"NVDISASM_PATH": str(Path(nvdisasm).parent)}
    return [kernel for library in libraries
            for kernel in parse_sass(lines_of([cuobjdump, "-sass", "-res-usage", library], environment))]


# AMD

def amd_waves(arch, wavefront, registers):
    """Waves a SIMD. Registers of a SIMD, how many a wave gets a multiple of, and the most waves: LLVM's AMDGPU
    backend, Utils/AMDGPUBaseInfo.cpp (getTotalNumVGPRs, getVGPRAllocGranule, getMaxWavesPerEU)."""
    version = arch.removeprefix("gfx")
    if version in ("90a", "942", "950"):
        total, granule, most = 512, 8, 8
    elif re.fullmatch("9..", version):
        total, granule, most = 256, 4, 10
    elif version in ("1100", "1101", "1151", "1200", "1201"):
        total, granule, most = 1536, 24, 16
    elif re.fullmatch("103.|11[05].", version):
        total, granule, most = 1024, 16, 16
    elif re.fullmatch("101.", version):
        total, granule, most = 1024, 8, 20
    else:
        return None
    if wavefront == 64 and len(version) == 4:
        total, granule = total // 2, granule // 2
    return min(most, total // (granule * -(-max(registers, 1) // granule)))


def code_objects_of(library):
    """The architecture and the ELF file of each code object in the bytes of a library that clang's HIP compiled:
    https://clang.llvm.org/docs/ClangOffloadBundler.html, Bundled Binary File Layout."""
    start = library.find(BUNDLE)
    while start >= 0:
        count, = struct.unpack_from("<Q", library, start + len(BUNDLE))
        entry = start + len(BUNDLE) + 8
        for _ in range(count):
            offset, size, length = struct.unpack_from("<QQQ", library, entry)
            target = library[entry + 24:entry + 24 + length].decode()
            entry += 24 + length
            # hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+
            if "amdgcn" in target:
                arch = target.rpartition("--")[2].split(":")[0]
                yield arch, library[start + offset:start + offset + size]
        start = library.find(BUNDLE, entry)


def parse_notes(lines):
    """By kernel, the numbers of `llvm-readelf --notes`."""
    kernels, numbers = {}, {}
    for line in lines:
        if line.startswith("  - "):  # the next kernel; its keys are sorted
            numbers = {}
        if found := re.match(r"  [ -] \.(\w+): +(\d+)$", line):
            numbers[found[1]] = int(found[2])
        elif found := re.match(r"  [ -] \.name: +(\S+)$", line):
            kernels[found[1]] = numbers
    return kernels


def parse_disassembly(lines):
    """By function, the code of `llvm-objdump -d --no-show-raw-insn`."""
    functions, starts, code = {}, {}, []
    for line in lines:
        if heading := re.match(r"([0-9a-f]+) <(\S+)>:$", line):
            code = functions[heading[2]] = []
            starts[heading[2]] = int(heading[1], 16)
        elif found := re.match(r"\t(\S+)(?: .*?)? *// ([0-9A-F]+):[0-9A-F ]+(?:<(.+?)(?:\+0x([0-9a-f]+))?>)?$", line):
            opcode, address, symbol, offset = found.groups()
            branches = re.match("s_c?branch", opcode) and symbol in starts
            code.append(Instruction(int(address, 16), bool(re.match("v_(mfma|smfmac|wmma|swmmac)_", opcode)),
                                    starts[symbol] + int(offset or "0", 16) if branches else None,
                                    not re.match("s_(branch|endpgm|setpc)", opcode)))
    return functions


def amd_kernel(arch, name, numbers, code):
    matrix, loop = main_loop(code)
    return {"arch": arch, "kernel": name, "vector": numbers["vgpr_count"], "agpr": numbers.get("agpr_count"),
            "scalar": numbers["sgpr_count"], "spilled": numbers["vgpr_spill_count"],
            "scalar_spilled": numbers["sgpr_spill_count"], "scratch": numbers["private_segment_fixed_size"],
            "shared": numbers["group_segment_fixed_size"],
            "waves": amd_waves(arch, numbers["wavefront_size"], numbers["vgpr_count"]), "matrix": matrix, "loop": loop}


def read_amd(libraries, readelf, objdump):
    kernels = []
    with tempfile.TemporaryDirectory() as folder:
        elf = Path(folder) / "code_object"
        for library in libraries:
            for arch, code_object in code_objects_of(Path(library).read_bytes()):
                elf.write_bytes(code_object)
                notes = parse_notes(lines_of([readelf, "--notes", elf]))
                functions = parse_disassembly(lines_of([objdump, "-d", "--no-show-raw-insn", elf]))
                kernels += [amd_kernel(arch, name, numbers, functions[name]) for name, numbers in notes.items()]
    return kernels


def finished(kernels):
    """With families and readable names, sorted and each once."""
    for kernel, name in zip(kernels, demangled([kernel["kernel"] for kernel in kernels])):
        kernel["family"], kernel["kernel"] = family_of(name), short_name(name)
    in_order = sorted(kernels, key=lambda kernel: (kernel["arch"], kernel["family"], kernel["kernel"]))
    return [kernel for i, kernel in enumerate(in_order) if i == 0 or kernel != in_order[i - 1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("platform", choices=["nvidia", "amd"])
    parser.add_argument("libraries", nargs="+", metavar="LIBRARY")
    parser.add_argument("--tool", action="append", required=True, help="in the order above")
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--raw-string", action="store_true", help="as an element of a list in C++")
    arguments = parser.parse_args()

    read = {"nvidia": read_nvidia, "amd": read_amd}[arguments.platform]
    table = {"platform": arguments.platform, "missing": None, "kernels": []}
    try:
        table["kernels"] = finished(read(arguments.libraries, *arguments.tool))
        if not table["kernels"]:
            raise Unreadable(f"no code object was found in {', '.join(Path(l).name for l in arguments.libraries)}")
    except (Unreadable, KeyError) as error:
        unknown = isinstance(error, KeyError)
        table["missing"] = f"the tools' output has no {error}" if unknown else str(error)
        print(f"warning: nothing is known of the kernels of {arguments.platform}: {table['missing']}", file=sys.stderr)
    rows = ",\n".join(json.dumps(kernel) for kernel in table["kernels"])
    text = json.dumps(table | {"kernels": []}).replace("[]", f"[\n{rows}\n]")
    arguments.output.write_text(f'R"json({text})json",\n' if arguments.raw_string else text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
