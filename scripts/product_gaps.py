#!/usr/bin/env python3
"""What stands between waits and products in the main loops of the hopper kernels, read from their machine code.

A warpgroup's loop is a chain: wait, product, wait. Instructions between a wait and the next product lengthen it, and
nvcc moves them there without a remark. Needs cuobjdump of CUDA's toolkit, which compiles nothing.

    product_gaps.py build/release/libfmha_bwd_nvidia.so --match "dq_dk_dv_kernel<Bfloat16, 128, Staircase, false, 0"

One line for each multiplying warpgroup's loop. Columns:

    all        instructions, those of ways that are seldom taken too
    products   wgmma instructions
    R2UR       registers moved to uniform ones: addresses that should have been uniform
    moves      register moves: sums that change their place
    before     of each group of products (S, dP, dV, dK, dQ in turn), the instructions in front of it: from the last wait
               for products, the end of the group before, or the loop's start, whichever is last

Exit codes: 0 done; 2 bad usage; 3 no such loop; 6 cuobjdump failed.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

from code_objects import SASS_FUNCTION, SASS_INSTRUCTION
from kernel_resources import print_cells, readable

WARPGROUPS = 2  # that multiply
COLUMNS = ["kernel", "all", "products", "R2UR", "moves", "before"]


def functions_of(lines):
    """{function: [(address, instruction)]} of what `cuobjdump -sass` prints."""
    functions, code = {}, None
    for line in lines:
        if heading := SASS_FUNCTION.match(line):
            code = functions.setdefault(heading[1], [])
        elif code is not None and (found := SASS_INSTRUCTION.match(line)):
            code.append((int(found[1], 16), found[2]))
    return functions


def products_of(loop):
    return sum("HGMMA" in text for _, text in loop)


def loops_of(code):
    """The main loops, as lists of instructions: of those with more than half as many wgmma as any has the shortest,
    one of each warpgroup."""
    place = {address: i for i, (address, _) in enumerate(code)}
    spans = []
    for end, (_, text) in enumerate(code):
        target = re.search(r"\bBRA\b.*0x([0-9a-f]+)", text)
        begin = place.get(int(target[1], 16)) if target else None
        if begin is not None and begin <= end and products_of(code[begin:end + 1]) > 0:
            spans.append((begin, end))
    inner = [span for span in spans
             if not any(other != span and span[0] <= other[0] and other[1] <= span[1] for other in spans)]
    most = max((products_of(code[begin:end + 1]) for begin, end in inner), default=0)
    shortest = sorted((span for span in inner if 2 * products_of(code[span[0]:span[1] + 1]) > most),
                      key=lambda span: span[1] - span[0])
    return [[text for _, text in code[begin:end + 1]] for begin, end in sorted(shortest[:WARPGROUPS])]


def gaps_of(loop):
    """Instructions in front of each group of products. A group's last product is marked gsb0."""
    gaps, last, in_group = [], -1, False
    for i, text in enumerate(loop):
        if "HGMMA" in text:
            if not in_group:
                gaps.append(i - last - 1)
            in_group = "gsb0" not in text
            last = i
        elif "DEPBAR" in text:
            last = i
    return gaps


def row_of(name, loop):
    def count(pattern):
        return sum(bool(re.search(pattern, text)) for text in loop)

    return [name, str(len(loop)), str(count("HGMMA")), str(count(r"\bR2UR\b")),
            str(count(r"\bMOV\b|\bIMAD\.MOV\b")), " ".join(map(str, gaps_of(loop)))]


def rows_of(text, match):
    functions = functions_of(text.splitlines())
    names = readable(list(functions))
    return [row_of(name, loop) for name, code in zip(names, functions.values()) if match in name
            for loop in loops_of(code)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("code", type=Path, help="a cubin, or an object, library or program with kernels in it")
    parser.add_argument("--match", default="dq_dk_dv_kernel", metavar="TEXT",
                        help="of kernels whose readable name has this in it; default: %(default)s")
    parser.add_argument("--cuobjdump", default="cuobjdump", metavar="PATH", help="default: %(default)s")
    given = parser.parse_args()
    try:
        text = subprocess.run([given.cuobjdump, "-sass", given.code], capture_output=True, text=True, check=True).stdout
    except OSError as error:
        print(f"product_gaps: --cuobjdump {given.cuobjdump}: {error.strerror}", file=sys.stderr)
        return 6
    except subprocess.CalledProcessError as error:
        print(f"product_gaps: {given.code}: {error.stderr.strip()}", file=sys.stderr)
        return 6
    rows = rows_of(text, given.match)
    if not rows:
        print(f"product_gaps: {given.code}: no loop with wgmma in a kernel with '{given.match}' in its name",
              file=sys.stderr)
        return 3
    print_cells([COLUMNS, *sorted(rows)], 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
