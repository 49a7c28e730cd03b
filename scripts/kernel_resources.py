#!/usr/bin/env python3
"""Registers, spills, shared memory and occupancy of every compiled kernel, as the compilers report them.

Builds the target kernel_resources of a build folder, which compiles each kernel source once more for each GPU
architecture, and prints a table. Spills are what goes to memory: vector registers on AMD (scalar registers there spill
into vector registers; their column is for information), bytes stored on NVIDIA.
"""
import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

COLUMNS = ["platform", "arch", "kernel", "vector", "agpr", "scalar", "spilled", "scalar spilled", "scratch", "shared",
           "waves"]
LEGEND = ("vector, agpr, scalar: registers a thread (a wave's, for scalar); spilled: AMD registers, NVIDIA bytes; "
          "scratch: bytes a thread; shared: static bytes a workgroup; waves: most at a time on a SIMD")


def parse_amd(text):
    """Kernels of clang's -Rpass-analysis=kernel-resource-usage."""
    names = {"VGPRs": "vector", "AGPRs": "agpr", "TotalSGPRs": "scalar", "SGPRs": "scalar", "VGPRs Spill": "spilled",
             "SGPRs Spill": "scalar spilled", "ScratchSize [bytes/lane]": "scratch", "LDS Size [bytes/block]": "shared",
             "Occupancy [waves/SIMD]": "waves"}
    kernels = []
    for key, value in re.findall(r"remark: (?:\S+:\d+:\d+: )? *([^:\n]+): (\S+) \[-Rpass-analysis", text):
        if key == "Function Name":
            kernels.append({"kernel": value})
        elif key in names:
            kernels[-1][names[key]] = int(value)
    return kernels


def parse_nvidia(text):
    """Kernels of ptxas -v."""
    kernels = []
    for line in text.splitlines():
        if entry := re.search(r"Compiling entry function '(\w+)'", line):
            kernels.append({"kernel": entry[1], "shared": 0})
        elif spills := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores", line):
            kernels[-1] |= {"scratch": int(spills[1]), "spilled": int(spills[2])}
        elif used := re.search(r"Used (\d+) registers", line):
            kernels[-1]["vector"] = int(used[1])
            if shared := re.search(r"(\d+) bytes smem", line):
                kernels[-1]["shared"] = int(shared[1])
    return kernels


def readable(names):
    """Demangled, without what all of them share: namespaces and the argument list."""
    demangler = shutil.which("c++filt")
    if demangler:
        names = subprocess.run([demangler], input="\n".join(names), capture_output=True, text=True,
                               check=True).stdout.splitlines()
    short = []
    for name in names:
        name = re.sub(r"\((?!anonymous).*", "", name.replace("(anonymous namespace)::", "").removeprefix("void "))
        short.append(re.sub(r"fmha_bwd::(?:\w+::)*", "", name))
    return short


def collect(folder):
    rows = []
    for report in sorted(folder.rglob("*.txt")):
        platform, arch = report.relative_to(folder).parts[:2]
        parse = {"amd": parse_amd, "nvidia": parse_nvidia}[platform]
        rows += [{"platform": platform, "arch": arch} | kernel for kernel in parse(report.read_text())]
    for row, name in zip(rows, readable([row["kernel"] for row in rows])):
        row["kernel"] = name
    return rows


def print_table(rows):
    cells = [COLUMNS] + [[str(row.get(column, "-")) for column in COLUMNS] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(COLUMNS))]
    for line in cells:
        print("  ".join(cell.ljust(width) if i < 3 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(line, widths))).rstrip())
    print("\n" + LEGEND)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default="build/release", type=Path, help="a configured build folder")
    parser.add_argument("--kernel", default="", help="only kernels whose name contains this")
    parser.add_argument("--arch", default="", help="only this architecture")
    parser.add_argument("--max-spills", type=int, metavar="N", help="exit 1 where a kernel spills more than N")
    arguments = parser.parse_args()

    built = subprocess.run(["cmake", "--build", arguments.build, "--target", "kernel_resources"], stdout=sys.stderr,
                           check=False)
    if built.returncode != 0:
        return 2
    rows = [row for row in collect(arguments.build / "resources")
            if arguments.kernel in row["kernel"] and arguments.arch in ("", row["arch"])]
    if not rows:
        print(f"{arguments.build} has no such kernel for a GPU", file=sys.stderr)
        return 3
    print_table(rows)
    if arguments.max_spills is None:
        return 0
    spilling = [row for row in rows if row["spilled"] > arguments.max_spills]
    if spilling:
        worst = max(spilling, key=lambda row: row["spilled"])
        print(f"{len(spilling)} of {len(rows)} kernels spill more than {arguments.max_spills}, most of all "
              f"{worst['kernel']} on {worst['arch']}: {worst['spilled']}", file=sys.stderr)
    return 1 if spilling else 0


if __name__ == "__main__":
    sys.exit(main())
