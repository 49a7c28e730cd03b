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
    blocks, successors = control_flow(code)
    loop = main_loop_blocks(blocks, successors)
    inside = [instruction for block in loop for instruction in blocks[block]]
    return sum(instruction.is_matrix for instruction in inside), len(inside)


def main_loop_blocks(blocks, successors):
    """The blocks of the main loop; nothing where no loop has matrix instructions."""
    if not any(instruction.is_matrix for block in blocks for instruction in block):
        return set()
    predecessors = predecessors_of(successors)

    def matrix_in(loop):
        return sum(instruction.is_matrix for block in loop for instruction in blocks[block])

    def best_loop(blocks_left):
        best = set()
        for loop in cycles(blocks_left, successors, predecessors):
            found = best_loop(loop - entries_of(loop, predecessors))
            if matrix_in(found) == 0:
                found = loop
            if matrix_in(found) > matrix_in(best):
                best = found
        return best

    return best_loop(set(range(len(blocks))))


def main_path(code, matters):
    """The instructions of one way round the main loop, in order; nothing where there is no such loop.

    Of all ways that pass no block twice it is the one with most instructions that matter, as the function `matters`
    says of each, and of these the one with fewest others.
    """
    blocks, successors = control_flow(code)
    loop = main_loop_blocks(blocks, successors)
    if not loop:
        return []
    entries = entries_of(loop, predecessors_of(successors))
    start = min(entries)

    # Blocks in an order in which each comes before those that follow it, but for the edges that lead back.
    order, seen, stack = [], {start}, [(start, iter(sorted(successors[start] & loop)))]
    while stack:
        block, following = stack[-1]
        other = next((other for other in following if other not in seen), None)
        if other is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(other)
            stack.append((other, iter(sorted(successors[other] & loop))))
    place = {block: i for i, block in enumerate(reversed(order))}

    best = {}  # by block, the value of the best way from there to the loop's start, and its next block
    for block in order:
        mattering = sum(matters(instruction) for instruction in blocks[block])
        own = mattering, mattering - len(blocks[block])
        ways = [((0, 0), None)] if start in successors[block] else []
        ways += [(best[other][0], other) for other in successors[block] & loop
                 if other in best and place[other] > place[block]]
        if ways:
            value, following = max(ways, key=lambda way: (way[0], way[1] is None, way[1] or 0))
            best[block] = tuple(map(sum, zip(own, value))), following

    path, block = [], start if start in best else None
    while block is not None:
        path += blocks[block]
        block = best[block][1]
    return path


def predecessors_of(successors):
    predecessors = [[] for _ in successors]
    for block, following in enumerate(successors):
        for other in following:
            predecessors[other].append(block)
    return predecessors


def entries_of(loop, predecessors):
    """The blocks of a loop that are entered from outside; its first where none is."""
    return {block for block in loop if not loop.issuperset(predecessors[block])} or {min(loop)}


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
