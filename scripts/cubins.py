"""What each kernel in NVIDIA's machine code needs, read from the ELF files that nvcc puts into a library.

CUDA's cuobjdump prints the same and more (code_objects.py runs it), but is not wherever nvcc is. Numbers stand in the
section .nv.info, attribute after attribute; the names and formats of attributes are those of `cuobjdump -elf`.
"""
import re
import struct

EM_CUDA = 190
STRING_AND_VALUE = 4  # EIFMT_SVAL: a size, then as many bytes; the other formats have their value in the size's place
REGCOUNT, FRAME_SIZE, MAX_THREADS = 0x2F, 0x11, 0x05  # EIATTR_...


class Elf:
    """The sections of a little-endian ELF file of 64 bits."""

    def __init__(self, data):
        self.data = data
        self.machine, = struct.unpack_from("<H", data, 18)
        self.flags, = struct.unpack_from("<I", data, 48)
        start, = struct.unpack_from("<Q", data, 40)
        count, names = struct.unpack_from("<HH", data, 60)
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, start + 64 * i) for i in range(count)]
        self.sections = [{"name": name, "type": kind, "offset": offset, "size": size, "link": link}
                         for name, kind, _, _, offset, size, link, *_ in headers]
        for section in self.sections:
            section["name"] = self.string(self.sections[names], section["name"])

    def string(self, table, offset):
        start = table["offset"] + offset
        return self.data[start:self.data.index(b"\0", start)].decode()

    def symbols(self):
        """The symbols' names, by index."""
        table = next(section for section in self.sections if section["type"] == 2)
        strings = self.sections[table["link"]]
        return [self.string(strings, struct.unpack_from("<I", self.data, at)[0])
                for at in range(table["offset"], table["offset"] + table["size"], 24)]

    def size_of(self, name):
        """Bytes of the section; 0 where there is none."""
        return next((section["size"] for section in self.sections if section["name"] == name), 0)

    def attributes(self, name):
        """Attribute and value of the section; nothing where there is none."""
        for section in self.sections:
            at, end = section["offset"], section["offset"] + section["size"]
            while section["name"] == name and at < end:
                form, attribute, size = struct.unpack_from("<BBH", self.data, at)
                at += 4
                if form == STRING_AND_VALUE:
                    yield attribute, self.data[at:at + size]
                    at += size


def cubins_of(library):
    """The ELF files for GPUs in the bytes of a library. Compressed ones are not seen."""
    start = library.find(b"\x7fELF\x02\x01")
    while start >= 0:
        following = library.find(b"\x7fELF\x02\x01", start + 4)
        if library[start + 18:start + 20] == EM_CUDA.to_bytes(2, "little"):
            yield library[start:following if following >= 0 else len(library)]
        start = following


def arch_of(elf):
    """"sm_90" of sm_90 and of sm_90a: they have the same flags. The number is in the second byte since CUDA 13, before
    that in the first."""
    new = elf.data[8] >= 8  # the ELF file's ABI version
    return f"sm_{elf.flags >> 8 & 0xff if new else elf.flags & 0xff}"


def kernels_of(cubin):
    """By name, registers, bytes of local memory, static bytes of shared memory and the most threads of a kernel.

    Local memory is a thread's stack, and whatever was spilled is on it. Shared memory is what the kernel declares,
    without the 1024 bytes that the system keeps from sm_90 on.
    """
    elf = Elf(cubin)
    names = elf.symbols()
    kernels = {}
    for attribute, value in elf.attributes(".nv.info"):
        if attribute in (REGCOUNT, FRAME_SIZE):
            symbol, number = struct.unpack("<II", value)
            kernels.setdefault(names[symbol], {})[attribute] = number
    reserved = 1024 if int(re.sub("sm_", "", arch_of(elf))) >= 90 else 0
    found = {}
    for name, numbers in kernels.items():
        own = dict(elf.attributes(f".nv.info.{name}"))
        if REGCOUNT in numbers and elf.size_of(f".text.{name}") > 0:
            threads = struct.unpack_from("<I", own[MAX_THREADS])[0] if MAX_THREADS in own else None
            shared = elf.size_of(f".nv.shared.{name}")
            found[name] = {"vector": numbers[REGCOUNT], "scratch": numbers.get(FRAME_SIZE, 0),
                           "shared": max(0, shared - reserved), "threads": threads}
    return found
