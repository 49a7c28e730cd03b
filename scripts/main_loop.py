"""The loop of a kernel's machine code that has most of its matrix instructions."""
from dataclasses import dataclass


@dataclass
class Instruction:
    address: int
    is_matrix: bool = False
    target: int | None = None  # of a branch whose target the code tells
    falls_through: bool = True  # whether the next instruction may follow it


def main_loop(code):
    """Matrix instructions in the main loop, and all instructions there; zeros where no loop has any.

    The main loop is, of the loops that have matrix instructions and no inner loop with some, the one with most of
    them. A loop is a strongly connected part of the control flow, and its inner loops are what stays one without the
    loop's entries (Steensgaard's nesting), so that code which stands elsewhere and jumps back, as a wait's slow path
    does, counts as the loop's own and as no loop around it.
    """
    if not any(instruction.is_matrix for instruction in code):
        return 0, 0
    blocks, successors = control_flow(code)
    predecessors = [[] for _ in blocks]
    for block, following in enumerate(successors):
        for other in following:
            predecessors[other].append(block)

    def best_loop(blocks_left):
        best = 0, 0
        for loop in cycles(blocks_left, successors, predecessors):
            entries = {block for block in loop if not loop.issuperset(predecessors[block])}
            found = best_loop(loop - (entries or {min(loop)}))
            if found[0] == 0:
                inside = [instruction for block in loop for instruction in blocks[block]]
                found = sum(instruction.is_matrix for instruction in inside), len(inside)
            if found[0] > best[0]:
                best = found
        return best

    return best_loop(set(range(len(blocks))))


def control_flow(code):
    """The basic blocks of `code`, and for each the indices of those that may follow it."""
    here = {instruction.address for instruction in code}
    leaders = {instruction.target for instruction in code if instruction.target in here}
    blocks = []
    for i, instruction in enumerate(code):
        after_branch = i > 0 and (code[i - 1].target is not None or not code[i - 1].falls_through)
        if i == 0 or after_branch or instruction.address in leaders:
            blocks.append([])
        blocks[-1].append(instruction)

    index_of = {block[0].address: i for i, block in enumerate(blocks)}
    successors = []
    for i, block in enumerate(blocks):
        last = block[-1]
        following = {index_of[last.target]} if last.target in index_of else set()
        if last.falls_through and i + 1 < len(blocks):
            following.add(i + 1)
        successors.append(following)
    return blocks, successors


def cycles(blocks, successors, predecessors):
    """The strongly connected parts of `blocks` that have an edge within them."""
    left = set(blocks)
    while left:
        start = min(left)
        part = reached(start, successors, left) & reached(start, predecessors, left)
        left -= part
        if len(part) > 1 or start in successors[start]:
            yield part


def reached(start, edges, within):
    """Every block of `within` that a way along `edges` leads to, `start` among them."""
    found, pending = {start}, [start]
    while pending:
        for block in edges[pending.pop()]:
            if block in within and block not in found:
                found.add(block)
                pending.append(block)
    return found
