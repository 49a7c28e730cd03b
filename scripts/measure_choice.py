#!/usr/bin/env python3
"""Times kernel families at a grid of shapes, and writes which is the fastest at each as kernels/choices.inc.

Runs fmha_bwd on the NVIDIA device once for each family, head dimension, length and number of heads, for both
masks, without verification. Prints a Markdown table of milliseconds. The first family of --kernels is taken
where it is at most 2% slower than the fastest.

Exit codes: 0 done; 2 bad usage; 3 nothing was timed; 6 the program failed.
"""
import argparse
import json
import shlex
import subprocess
import sys
from pathlib import Path

MASKS = ("no_mask", "top_left")
ALIKE = 1.02  # times of which the first family's is taken


class Failure(Exception):
    """Ends the program with `code`."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def whole_numbers(text):
    numbers = [int(part) for part in text.split(",")]
    if min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"'{text}': numbers are at least 1")
    return numbers


def pairs(text):
    """"1x8,8x16": (batch, heads)."""
    found = [tuple(int(part) for part in pair.split("x")) for pair in text.split(",")]
    if any(len(pair) != 2 or min(pair) < 1 for pair in found):
        raise argparse.ArgumentTypeError(f"'{text}': allowed is BATCHxHEADS,...")
    return found


def arguments_from(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--binary", type=Path, default=Path("build/release/fmha_bwd"), help="default: build/release/fmha_bwd")
    add("--output", type=Path, help="the file to write; default: only the table")
    add("--kernels", type=lambda text: text.split(","), default=["hopper", "mma"], metavar="FAMILY,...",
        help="default: hopper,mma")
    add("--hdims", type=whole_numbers, default=[64, 128, 256], metavar="D,...", help="default: 64,128,256")
    add("--seqlens", type=whole_numbers, default=[64, 128, 256, 512, 1024], metavar="S,...",
        help="default: 64,128,256,512,1024")
    add("--problems", type=pairs, default=[(1, 8), (8, 16)], metavar="BATCHxHEADS,...",
        help="default: 1x8,8x16")
    return parser.parse_args(argv)


def timed(binary, kernel, hdim, seqlen, batch, heads):
    """({mask: milliseconds}, device); no milliseconds where the family does not take the shape."""
    command = [str(binary), "--device", "nvidia", "--kernel", kernel, "--dtype", "bf16", "--layout", "bshd",
               "--mask", ",".join(MASKS), "--batch", str(batch), "--nhead", str(heads), "--hdim", str(hdim),
               "--seqlen-q", str(seqlen), "--seqlen-k", str(seqlen), "--verify", "none", "--warmup", "20",
               "--repeat", "50", "--format", "json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Failure(6, f"--binary {binary}: {error.strerror}") from error
    if done.returncode == 3:
        return {}, None
    if done.returncode != 0:
        raise Failure(6, f"{shlex.join(command)}: exit code {done.returncode}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    return {mask["mask"]: mask["timing"]["total_ms"] for mask in report["masks"]}, report["device"]


def fastest(kernels, milliseconds):
    """Of {kernel: milliseconds}, the first of `kernels` that is about as fast as any."""
    least = min(milliseconds.values())
    return next(kernel for kernel in kernels if milliseconds.get(kernel, float("inf")) <= ALIKE * least)


def row_text(arch, hdim, mask, heads, seqlen, kernel):
    return f'{{"{arch}", {hdim}, "{mask}", {heads}, {seqlen}, "{kernel}"}},'


def measure(given):
    """The rows of the file, by the grid; prints the table."""
    print("| D | mask | heads | S | " + " | ".join(f"{kernel} ms" for kernel in given.kernels) + " | fastest |")
    print("|" + "---|" * (5 + len(given.kernels)), flush=True)
    rows, device = [], None
    for hdim in given.hdims:
        for batch, heads in given.problems:
            for seqlen in given.seqlens:
                times = {}
                for kernel in given.kernels:
                    times[kernel], found = timed(given.binary, kernel, hdim, seqlen, batch, heads)
                    device = device or found
                for mask in MASKS:
                    of_mask = {kernel: found[mask] for kernel, found in times.items() if mask in found}
                    if not of_mask:
                        continue
                    chosen = fastest(given.kernels, of_mask)
                    cells = [f"{of_mask[kernel]:.4f}" if kernel in of_mask else "n/a" for kernel in given.kernels]
                    print(f"| {hdim} | {mask} | {batch * heads} | {seqlen} | " + " | ".join(cells) +
                          f" | {chosen} |", flush=True)
                    rows.append(row_text(device["arch"], hdim, mask, batch * heads, seqlen, chosen))
    if not rows:
        raise Failure(3, "no family takes any of the shapes")
    return rows, device


def main():
    try:
        given = arguments_from(sys.argv[1:])
        rows, device = measure(given)
        if given.output:
            head = [f"// Measured on one {device['name']} by scripts/measure_choice.py: architecture, hdim, mask, heads",
                    "// of all sequences, length, and the fastest family. kernels/choice.h reads it."]
            given.output.write_text("\n".join(head + rows) + "\n", encoding="utf-8")
        return 0
    except Failure as failure:
        print(f"measure_choice: {failure}", file=sys.stderr)
        return failure.code
    except OSError as error:
        print(f"measure_choice: {error}", file=sys.stderr)
        return 6


if __name__ == "__main__":
    sys.exit(main())
