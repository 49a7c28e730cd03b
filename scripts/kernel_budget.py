#!/usr/bin/env python3
"""Checks what the kernels on matrix cores need against the table kernels/resources.csv.

No kernel is compiled: the numbers are those of the machine code in a build folder's libraries, and the shared memory
of launches is what kernels/shared_bytes.cpp prints, which is built if need be. For each kernel of the families cdna,
rdna, mma and hopper the table has

    compiler             whose numbers these are; with another one only spills are checked
    threads              of a workgroup, at most
    vector, agpr         registers a thread; on gfx90a, gfx942 and gfx950 the first counts both
    spilled              AMD: vector registers; NVIDIA: bytes of local memory, where spills would be
    scratch              bytes of stack or local memory a thread
    shared               bytes a workgroup, what the launch asks for among them
    workgroups           at a time on a compute unit (RDNA: on a work-group processor of two, NVIDIA: on a
                         multiprocessor), as registers and shared memory limit them
    waves                of those, on each of its four SIMDs or schedulers

Exit code 1 where a kernel spills, needs more than the table says, leaves room for fewer workgroups, or stands in one of
both alone. --update writes the table anew for what is built, and keeps the other rows.
"""
import argparse
import csv
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import cubins
from code_objects import Unreadable, amd_waves, code_objects_of, family_of, lines_of, nvidia_waves, parse_notes
from kernel_resources import demangled, short_name

TABLE = Path(__file__).parents[1] / "kernels" / "resources.csv"
FAMILIES = ("cdna", "rdna", "mma", "hopper")
KEY = ["platform", "arch", "family", "kernel"]
NEEDS = ["threads", "vector", "spilled", "scratch", "shared"]  # no more than the table has
ROOM = ["workgroups", "waves"]  # no less
COLUMNS = [*KEY, "compiler", "threads", "vector", "agpr", "spilled", "scratch", "shared", *ROOM]
SIMDS = 4  # of what a workgroup runs on, for all of the architectures


def divided_up(count, by):
    return -(-count // by)


def amd_shared_memory(arch):
    """Bytes that the workgroups on a compute unit share (RDNA: on a work-group processor), and how many a workgroup
    gets a multiple of: LLVM's AMDGPU backend, AMDGPUBaseInfo.cpp (getLocalMemorySize) and AMDGPUAsmPrinter.cpp."""
    if arch == "gfx950":
        return 160 * 1024, 1280
    return (64 if arch.startswith("gfx9") else 128) * 1024, 512


def amd_workgroups(arch, wavefront, threads, registers, shared):
    waves = divided_up(threads, wavefront)
    memory, granule = amd_shared_memory(arch)
    by_registers = amd_waves(arch, wavefront, registers) * SIMDS // waves
    return min(by_registers, memory // (granule * divided_up(max(shared, 1), granule)))


def nvidia_workgroups(arch, threads, registers, shared):
    """Shared memory of a multiprocessor, 1024 bytes of each block the system's: CUDA C++ Programming Guide, Technical
    Specifications per Compute Capability."""
    number = int(arch.removeprefix("sm_"))
    memory = {80: 164, 87: 164, 90: 228, 100: 228, 103: 228}.get(number, 100) * 1024
    by_registers = nvidia_waves(arch, registers) * SIMDS // divided_up(threads, 32)
    return min(by_registers, memory // (128 * divided_up(shared, 128) + 1024))


def amd_kernels(library, readelf):
    """Rows of a library, with mangled names and the shared memory that stands in the code."""
    with tempfile.TemporaryDirectory() as folder:
        elf = Path(folder) / "code_object"
        for arch, code in code_objects_of(library):
            compiler = re.search(rb"LLD (\d+)\.", code)
            elf.write_bytes(code)
            for name, numbers in parse_notes(lines_of([readelf, "--notes", elf])).items():
                yield {"platform": "amd", "arch": arch, "kernel": name, "wavefront": numbers["wavefront_size"],
                       "compiler": f"clang {compiler[1].decode()}" if compiler else "clang",
                       "threads": numbers["max_flat_workgroup_size"], "vector": numbers["vgpr_count"],
                       "agpr": numbers.get("agpr_count", 0), "spilled": numbers["vgpr_spill_count"],
                       "scratch": numbers["private_segment_fixed_size"], "shared": numbers["group_segment_fixed_size"]}


def nvidia_kernels(library):
    for cubin in cubins.cubins_of(library):
        arch = cubins.arch_of(cubins.Elf(cubin))
        compiler = re.search(rb"release (\d+\.\d+)", cubin)
        for name, numbers in cubins.kernels_of(cubin).items():
            yield numbers | {"platform": "nvidia", "arch": arch, "kernel": name, "wavefront": 32, "agpr": 0,
                             "spilled": numbers["scratch"],
                             "compiler": f"nvcc {compiler[1].decode()}" if compiler else "nvcc"}


def cached(build, variable):
    """The value of a variable of CMake's cache."""
    found = re.search(rf"^{variable}:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    return found[1] if found else ""


def read_shared_bytes(build):
    """How architectures' names begin, family, kernel and its dynamic shared memory."""
    command = ["cmake", "--build", build, "--target", "shared_bytes"]
    if subprocess.run(command, stdout=sys.stderr, check=False).returncode != 0:
        raise Unreadable(f"{build} cannot build shared_bytes")
    rows = csv.reader(lines_of([build / "kernels" / "shared_bytes"]))
    return [(architectures, family, kernel, int(size)) for architectures, family, kernel, size in rows]


def built_kernels(build):
    """Rows of the table for a build folder. Raises Unreadable where they cannot be had."""
    rows = []
    for library in sorted((build / "kernels" / "platform").rglob("libfmha_bwd_kernels_*.a")):
        if "amd" in library.stem:
            rows += amd_kernels(library.read_bytes(), cached(build, "FMHA_BWD_LLVM_READELF"))
        elif "nvidia" in library.stem or "hopper" in library.stem:
            rows += nvidia_kernels(library.read_bytes())
    for row, name in zip(rows, demangled([row["kernel"] for row in rows])):
        row["family"], row["kernel"] = family_of(name), short_name(name)
    rows = [row for row in rows if row["family"] in FAMILIES]
    launches = read_shared_bytes(build) if rows else []
    for row in rows:
        sizes = [size for architectures, family, kernel, size in launches
                 if row["arch"].startswith(architectures) and (family, kernel) == (row["family"], row["kernel"])]
        if not sizes:
            raise Unreadable(f"shared_bytes does not know {row['kernel']} of {row['family']} on {row['arch']}")
        row["shared"] += sizes[0]
        limits = row["threads"], row["vector"], row["shared"]
        if row["platform"] == "amd":
            row["workgroups"] = amd_workgroups(row["arch"], row["wavefront"], *limits)
        else:
            row["workgroups"] = nvidia_workgroups(row["arch"], *limits)
        row["waves"] = row["workgroups"] * divided_up(row["threads"], row["wavefront"]) // SIMDS
    return [{column: row[column] for column in COLUMNS} for row in sorted(rows, key=key_of)]


def key_of(row):
    return tuple(row[column] for column in KEY)


def name_of(row):
    return f"{row['arch']} {row['family']} {row['kernel']}"


def read_table(path):
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [row | {column: int(row[column]) for column in COLUMNS if column not in (*KEY, "compiler")} for row in rows]


def write_table(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=key_of))


def updated(table, built):
    """The table with the rows of all architectures that are built replaced."""
    targets = {(row["platform"], row["arch"]) for row in built}
    return [row for row in table if (row["platform"], row["arch"]) not in targets] + built


def faults_of(table, built, complete=False):
    """Faults, and remarks that are none, each in a line."""
    faults, remarks = [], []
    expected = {key_of(row): row for row in table}
    better = 0
    for row in built:
        if row["spilled"] > 0:
            faults.append(f"{name_of(row)} spills: {row['spilled']}")
        if key_of(row) not in expected:
            faults.append(f"{name_of(row)} is not in the table")
            continue
        before = expected.pop(key_of(row))
        if row["compiler"] != before["compiler"]:
            compilers = f"{row['compiler']}, and the table has {before['compiler']}"
            remark = f"{row['arch']}: only spills are checked: {compilers}"
            remarks += [remark] if remark not in remarks else []
            continue
        worse = [column for column in NEEDS if row[column] > before[column] and column != "spilled"]
        worse += [column for column in ROOM if row[column] < before[column]]
        if worse:
            numbers = ", ".join(f"{column} {before[column]} -> {row[column]}" for column in worse)
            faults.append(f"{name_of(row)} is worse than the table: {numbers}")
        elif any(row[column] != before[column] for column in (*NEEDS, *ROOM, "agpr")):
            better += 1
    platforms = {row["platform"] for row in built}
    groups = {(row["platform"], row["arch"], row["family"]) for row in built}
    absent = {}
    for row in expected.values():
        group = row["platform"], row["arch"], row["family"]
        if group in groups:
            faults.append(f"{name_of(row)} is in the table alone")
        else:
            absent[group] = absent.get(group, 0) + 1
    for (platform, arch, family), count in absent.items():
        text = f"{count} kernels of {family} on {arch} are in the table, and not built"
        (faults if complete and platform in platforms else remarks).append(text)
    if better:
        remarks.append(f"{better} kernels differ from the table and are no worse; --update writes what they need")
    return faults, remarks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default="build/release", type=Path, help="a build folder, built")
    parser.add_argument("--table", type=Path, default=TABLE, metavar="FILE")
    parser.add_argument("--update", action="store_true", help="write the table")
    parser.add_argument("--complete", action="store_true",
                        help="exit 1 also where a platform's architecture or family of the table is not built")
    arguments = parser.parse_args()

    try:
        built = built_kernels(arguments.build)
        table = read_table(arguments.table) if arguments.table.exists() or not arguments.update else []
    except (Unreadable, OSError, KeyError, ValueError) as error:
        print(f"cannot read what is built or the table: {error}", file=sys.stderr)
        return 2
    if not built:
        print(f"{arguments.build} has no kernel on matrix cores for a GPU", file=sys.stderr)
        return 3
    if arguments.update:
        write_table(arguments.table, updated(table, built))
        spilling = sum(row["spilled"] > 0 for row in built)
        print(f"{arguments.table}: {len(built)} kernels of this build, {spilling} of them spill")
        return 0
    faults, remarks = faults_of(table, built, arguments.complete)
    for line in (*remarks, *faults):
        print(line)
    print(f"{len(built)} kernels, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
