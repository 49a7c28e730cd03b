"""Tests of scripts/kernel_budget.py on made-up tables, and on an ELF file written by hand."""
import contextlib
import io
import struct
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import cubins  # noqa: E402
import kernel_budget  # noqa: E402


def row(**changes):
    return {"platform": "amd", "arch": "gfx942", "family": "cdna", "kernel": "fill<Half>", "compiler": "clang 22",
            "threads": 256, "vector": 229, "agpr": 0, "spilled": 0, "scratch": 0, "shared": 33280, "workgroups": 1,
            "waves": 1} | changes


class Check(unittest.TestCase):
    def check(self, table, built, faults=(), remarks=(), **options):
        """Each expected text is a part of the fault or remark in its place."""
        found = kernel_budget.faults_of(table, built, **options)
        for texts, expected in zip(found, (faults, remarks)):
            self.assertEqual(len(texts), len(expected), texts)
            for text, part in zip(texts, expected):
                self.assertIn(part, text)

    def test_what_the_table_says_is_no_fault(self):
        self.check([row()], [row()])

    def test_more_of_anything_is(self):
        for column in ("threads", "vector", "scratch", "shared"):
            more = row()[column] + 1
            self.check([row()], [row(**{column: more})], [f"gfx942 cdna fill<Half> is worse than the table: {column}"])

    def test_less_room_is_too(self):
        self.check([row()], [row(workgroups=0, waves=0)], ["workgroups 1 -> 0, waves 1 -> 0"])

    def test_less_is_remarked_on(self):
        self.check([row()], [row(vector=200, workgroups=2)], remarks=["1 kernels differ from the table and are no"])

    def test_a_spill_is_a_fault_whatever_the_table_says(self):
        self.check([row(spilled=3)], [row(spilled=3)], ["spills: 3"])

    def test_both_have_the_same_kernels(self):
        self.check([row()], [row(), row(kernel="new")], ["new is not in the table"])
        self.check([row(), row(kernel="old")], [row()], ["old is in the table alone"])

    def test_what_is_not_built_is_a_fault_only_where_all_is_wanted(self):
        table = [row(), row(arch="gfx950"), row(platform="nvidia", arch="sm_80", family="mma")]
        both = ["cdna on gfx950", "mma on sm_80"]
        self.check(table, [row()], remarks=both)
        self.check(table, [row()], both[:1], both[1:], complete=True)

    def test_another_compiler_may_need_more_but_not_spill(self):
        other = row(vector=300, compiler="clang 19")
        self.check([row()], [other, ], remarks=["gfx942: only spills are checked: clang 19, and"])
        self.check([row()], [other | {"spilled": 1}], ["spills: 1"], ["only spills"])


class Table(unittest.TestCase):
    def test_an_update_replaces_what_is_built_and_keeps_the_rest(self):
        table = [row(), row(kernel="old"), row(arch="gfx950")]
        self.assertEqual(kernel_budget.updated(table, [row(vector=1)]), [row(arch="gfx950"), row(vector=1)])

    def test_it_is_read_as_it_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "resources.csv"
            rows = [row(kernel="fill<Half, 64>"), row(kernel="fill<Half, 128>")]
            kernel_budget.write_table(path, rows)
            self.assertEqual(kernel_budget.read_table(path), sorted(rows, key=kernel_budget.key_of))

    def test_exit_codes(self):
        def run_main(built, *options):
            argv = ["kernel_budget.py", "build", "--table", str(path), *options]
            with (mock.patch.object(sys, "argv", argv),
                  mock.patch.object(kernel_budget, "built_kernels", lambda _: built),
                  contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())):
                return kernel_budget.main()

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "resources.csv"
            self.assertEqual(run_main([row()]), 2)  # no table
            self.assertEqual(run_main([row()], "--update"), 0)
            self.assertEqual(run_main([row()]), 0)
            self.assertEqual(run_main([row(vector=230)]), 1)
            self.assertEqual(run_main([]), 3)


class Room(unittest.TestCase):
    def test_registers_or_shared_memory_limit_workgroups(self):
        amd = kernel_budget.amd_workgroups
        self.assertEqual(amd("gfx942", 64, 256, 229, 16384), 2)  # registers: 2 waves on each of 4 SIMDs
        self.assertEqual(amd("gfx942", 64, 256, 229, 33280), 1)  # 64 KB
        self.assertEqual(amd("gfx950", 64, 256, 229, 33280), 2)  # 160 KB
        self.assertEqual(amd("gfx942", 64, 256, 425, 16384), 1)
        self.assertEqual(amd("gfx1100", 32, 128, 256, 53504), 2)  # 128 KB of two compute units
        self.assertEqual(amd("gfx1100", 32, 128, 256, 0), 5)
        nvidia = kernel_budget.nvidia_workgroups
        self.assertEqual(nvidia("sm_80", 256, 128, 0), 2)
        self.assertEqual(nvidia("sm_80", 256, 128, 96 * 1024), 1)  # 164 KB
        self.assertEqual(nvidia("sm_90", 256, 128, 96 * 1024), 2)  # 228 KB
        self.assertEqual(nvidia("sm_90", 256, 128, 114 * 1024), 1)  # with the system's


def made_up_cubin(flags, sections, symbols):
    """An ELF file of ABI version 8 with the sections, by name, and symbols of the names."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in (*sections, ".symtab", ".strtab", ".shstrtab"))
    strings = b"\0" + b"".join(symbol.encode() + b"\0" for symbol in symbols)
    table = bytes(24) + b"".join(struct.pack("<I20x", strings.index(symbol.encode() + b"\0")) for symbol in symbols)
    contents = [(name, 1, 0, content) for name, content in sections.items()]
    contents += [(".symtab", 2, len(sections) + 2, table), (".strtab", 3, 0, strings), (".shstrtab", 3, 0, names)]
    body, headers, at = b"", bytes(64), 64
    for name, kind, link, content in contents:
        named = names.index(b"\0" + name.encode() + b"\0") + 1
        headers += struct.pack("<IIQQQQIIQQ", named, kind, 0, 0, at, len(content), link, 0, 1, 0)
        body += content
        at += len(content)
    header = struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, at, flags, 64, 0, 0, 64, len(contents) + 1, len(contents))
    return b"\x7fELF\x02\x01\x01" + bytes([65, 8]) + bytes(7) + header + body + headers


class Cubins(unittest.TestCase):
    CUBIN = made_up_cubin(0x6005A04, {
        ".nv.info": struct.pack("<BBHII", 4, 0x2F, 8, 1, 168) + struct.pack("<BBH", 3, 0x1B, 0x80) +
        struct.pack("<BBHII", 4, 0x11, 8, 1, 24) + struct.pack("<BBHII", 4, 0x11, 8, 2, 0),
        ".nv.info.walk": struct.pack("<BBHIII", 4, 0x05, 12, 384, 1, 1),
        ".text.walk": bytes(128), ".nv.shared.walk": bytes(1280)}, ["walk", "helper"])

    def test_numbers_of_each_kernel_are_read(self):
        self.assertEqual(cubins.kernels_of(self.CUBIN),
                         {"walk": {"vector": 168, "scratch": 24, "shared": 256, "threads": 384}})
        self.assertEqual(cubins.arch_of(cubins.Elf(self.CUBIN)), "sm_90")

    def test_they_are_found_among_other_files(self):
        host = b"\x7fELF\x02\x01" + bytes(12) + b"\x3e\0" + bytes(44)
        found = list(cubins.cubins_of(host + self.CUBIN + b"between" + host + self.CUBIN))
        self.assertEqual([cubin[:len(self.CUBIN)] for cubin in found], [self.CUBIN, self.CUBIN])
        self.assertEqual([cubins.kernels_of(cubin) for cubin in found], [cubins.kernels_of(self.CUBIN)] * 2)


if __name__ == "__main__":
    unittest.main()
