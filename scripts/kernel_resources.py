#!/usr/bin/env python3
"""Registers, spills, shared memory and occupancy of every compiled kernel, as the compilers report them.

Builds the target kernel_resources of a build folder, which compiles each kernel source once more for each GPU
architecture, and prints a table. Spills are what goes to memory: vector registers on AMD (scalar registers there spill
into vector registers; their column is for information), bytes stored on NVIDIA. Below it stand ptxas's
remarks on wgmma that it serialised, or put waits into, and on setmaxnreg that it ignored: such kernels are
right, but slow.
"""
import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

COLUMNS = ["platform", "arch", "family", "kernel", "vector", "agpr", "scalar", "spilled", "scalar spilled", "scratch",
           "shared", "waves"]
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


def nvidia_remarks(text):
    """ptxas's remarks C7500 to C7519, each once: what it did to wgmma and setmaxnreg."""
    remarks = re.findall(r"^ptxas \w+\s*: \((C75[01]\d)\) (.*)$", text, re.MULTILINE)
    return [f"{code} {remark.strip()}" for code, remark in dict.fromkeys(remarks)]


def demangled(names):
    """As c++filt says; as they are where there is none."""
    if not names or not (demangler := shutil.which("c++filt")):
        return names
    return subprocess.run([demangler], input="\n".join(names), capture_output=True, text=True,
                          check=True).stdout.splitlines()


def short_name(name):
    """Of a demangled name, without what all of them share: namespaces and the argument list. Matrix kernels lose their
    family's traits, the first template argument, and the sizes that follow from the others, the last."""
    name = re.sub(r"\((?!anonymous).*", "", name.replace("(anonymous namespace)::", "").removeprefix("void "))
    name = re.sub(r"fmha_bwd::(?:\w+::)*", "", name)
    return re.sub(r"^(\w+)<(?:(?:Traits|Of<\w+>), )?(.*), (?:Backward|Forward)<.*>$", r"\1<\2>", name)


def readable(names):
    return [short_name(name) for name in demangled(names)]


def reports(folder, family):
    """Platform, architecture, family ("-" outside all) and text of every report."""
    for report in sorted(folder.rglob("*.txt")):
        platform, arch, *path = report.relative_to(folder).parts
        own_family = path[1] if len(path) > 2 else "-"
        if family in ("", own_family):
            yield {"platform": platform, "arch": arch, "family": own_family}, report.read_text()


def collect(folder, family=""):
    rows = []
    for source, text in reports(folder, family):
        parse = {"amd": parse_amd, "nvidia": parse_nvidia}[source["platform"]]
        rows += [source | kernel for kernel in parse(text)]
    for row, name in zip(rows, readable([row["kernel"] for row in rows])):
        row["kernel"] = name
    return rows


def collect_remarks(folder, family=""):
    """Remarks with the kernel that each names, "" where it names none."""
    rows = []
    for source, text in reports(folder, family):
        for remark in nvidia_remarks(text) if source["platform"] == "nvidia" else []:
            kernel = ""
            if named := re.search(r"'(_Z\w+)'", remark):
                kernel = readable([named[1]])[0]
                remark = remark.replace(named[1], kernel)
            rows.append(source | {"kernel": kernel, "remark": remark})
    return rows


def print_cells(cells, left):
    """Lines of cells, the first `left` columns aligned to the left and the others to the right."""
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    for line in cells:
        print("  ".join(cell.ljust(width) if i < left else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(line, widths))).rstrip())


def print_table(rows):
    print_cells([COLUMNS] + [[str(row.get(column, "-")) for column in COLUMNS] for row in rows], left=4)
    print("\n" + LEGEND)


def spills_too_much(rows, most):
    spilling = [row for row in rows if row["spilled"] > most]
    if spilling:
        worst = max(spilling, key=lambda row: row["spilled"])
        print(f"{len(spilling)} of {len(rows)} kernels spill more than {most}, most of all "
              f"{worst['kernel']} on {worst['arch']}: {worst['spilled']}", file=sys.stderr)
    return bool(spilling)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default="build/release", type=Path, help="a configured build folder")
    parser.add_argument("--kernel", default="", help="only kernels whose name contains this")
    parser.add_argument("--arch", default="", help="only this architecture")
    parser.add_argument("--family", default="", help="build and show only this family's kernels")
    parser.add_argument("--max-spills", type=int, metavar="N", help="exit 1 where a kernel spills more than N")
    parser.add_argument("--strict", action="store_true", help="exit 1 where there is a remark")
    arguments = parser.parse_args()

    target = f"kernel_resources_{arguments.family}" if arguments.family else "kernel_resources"
    built = subprocess.run(["cmake", "--build", arguments.build, "--target", target], stdout=sys.stderr,
                           check=False)
    if built.returncode != 0:
        return 2

    folder = arguments.build / "resources"
    rows = [row for row in collect(folder, arguments.family)
            if arguments.kernel in row["kernel"] and arguments.arch in ("", row["arch"])]
    if not rows:
        print(f"{arguments.build} has no such kernel for a GPU", file=sys.stderr)
        return 3
    print_table(rows)
    remarks = [remark for remark in collect_remarks(folder, arguments.family)
               if (not remark["kernel"] or arguments.kernel in remark["kernel"])
               and arguments.arch in ("", remark["arch"])]
    if remarks:
        print()
    for remark in remarks:
        print(f"{remark['arch']}, {remark['family']}: {remark['remark']}")

    failed = arguments.strict and bool(remarks)
    if arguments.max_spills is not None:
        failed |= spills_too_much(rows, arguments.max_spills)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
