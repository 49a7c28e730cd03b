#!/usr/bin/env python3
"""How long the blocks of hopper's stage 2 take, and how long they wait, by a simulation of their queue.

Blocks take walks in order: over tiles of keys, which wait until their head's tiles of queries are prepared, and of errands,
which prepare tiles of later heads and convert those of heads whose walks have all ended (kernels/hopper/errand_plan.h). What
a walk and an errand take is given, measured or guessed; the order and the waits are as in the kernels.

    errand_queue.py --heads 512 --key-tiles 4 --head-tiles 8 --walk-us 18.4 --errand-us 1.1 --waves-ahead 1 2

One line for each of --waves-ahead, how many walks in front of their use tiles are prepared, in waves of all blocks:

    total_us           until the last block is done
    walks_us           that the walks over keys alone would take
    wait_prepared_us   that a block waits in walks over keys, on average
    wait_visited_us    that it waits before it converts

Exit codes: 0 done; 2 bad usage.
"""
import argparse
import heapq
import sys

START_US = 1.0  # of a walk of errands: the walk before is finished, and the first tile loaded
LAST_DQ_US = 1.5  # from a walk's start until the last dQ of the block's walk before is added


class Queue:
    """The walks of key_heads heads in the order that they are taken in: ("keys", head) or ("errands", prepares, converts),
    two ranges of tiles."""

    def __init__(self, heads, key_tiles, head_tiles, blocks, waves_ahead):
        every = max(1, min(16 * key_tiles // head_tiles, heads * key_tiles))
        places = int(waves_ahead * blocks) + every
        tiles, walks = heads * head_tiles, heads * key_tiles
        ahead = min(tiles, head_tiles + -(-places * head_tiles // key_tiles))
        prepared = lambda place: min(tiles, ahead + place * head_tiles // key_tiles)
        converted = lambda place: max(0, place * head_tiles // key_tiles - ahead)
        ends = min(tiles, blocks)
        part = lambda begin, end, i: (begin + (end - begin) * i // ends, begin + (end - begin) * (i + 1) // ends)
        self.walks = [("errands", part(0, prepared(0), i), (0, 0)) for i in range(ends)]
        for first in range(0, walks, every):
            end = min(first + every, walks)
            self.walks += [("keys", walk // key_tiles) for walk in range(first, end)]
            self.walks.append(("errands", (prepared(first), prepared(end)), (converted(first), converted(end))))
        self.walks += [("errands", (0, 0), part(converted(walks), tiles, i)) for i in range(ends)]


class Heads:
    """What is counted of each head, and who waits until it is complete."""

    def __init__(self, heads, whole):
        self.left = [whole] * heads
        self.waiting = {}

    def is_whole(self, head):
        return self.left[head] == 0

    def count(self, head):
        """One more. Those who waited for the last."""
        self.left[head] -= 1
        return self.waiting.pop(head, []) if self.left[head] == 0 else []


class Simulation:
    def __init__(self, queue, heads, key_tiles, head_tiles, blocks, walk_us, errand_us):
        self.queue, self.next = queue.walks, 0
        self.head_tiles, self.walk_us, self.errand_us = head_tiles, walk_us, errand_us
        self.prepared, self.visited = Heads(heads, head_tiles), Heads(heads, key_tiles)
        self.events, self.order = [], 0
        self.wait_prepared = self.wait_visited = self.end = 0.0
        self.blocks = [self.block() for _ in range(blocks)]

    def wake(self, time, block):
        self.order += 1
        heapq.heappush(self.events, (time, self.order, block))

    def run(self):
        for index, block in enumerate(self.blocks):
            next(block)
            self.wake(0.0, index)
        while self.events:
            time, _, index = heapq.heappop(self.events)
            try:
                then = self.blocks[index].send(time)
            except StopIteration:
                self.end = max(self.end, time)
                continue
            if isinstance(then, float):
                self.wake(then, index)
            else:
                counts, head = then
                counts.waiting.setdefault(head, []).append(index)
        return self

    def count(self, counts, head, time):
        for block in counts.count(head):
            self.wake(time, block)

    def block(self):
        """A block's part: yields the time until which it is busy, or what it waits for, and is sent the time."""
        last = None  # the head of the walk whose last dQ is not added yet
        time = yield
        while self.next < len(self.queue):
            walk = self.queue[self.next]
            self.next += 1
            if walk[0] == "keys":
                begin = time
                while not self.prepared.is_whole(walk[1]):
                    time = yield self.prepared, walk[1]
                self.wait_prepared += time - begin
                if last is not None:
                    time = yield time + LAST_DQ_US
                    self.count(self.visited, last, time)
                time = yield time + self.walk_us - (LAST_DQ_US if last is not None else 0.0)
                last = walk[1]
                continue
            time = yield time + START_US
            if last is not None:
                self.count(self.visited, last, time)
                last = None
            _, prepares, converts = walk
            time = yield time + self.errand_us * (prepares[1] - prepares[0])
            for tile in range(*prepares):
                self.count(self.prepared, tile // self.head_tiles, time)
            begin = time
            for head in sorted({tile // self.head_tiles for tile in range(*converts)}):
                while not self.visited.is_whole(head):
                    time = yield self.visited, head
            self.wait_visited += time - begin
            time = yield time + self.errand_us * (converts[1] - converts[0])
        if last is not None:
            time = yield time + START_US
            self.count(self.visited, last, time)


def simulated(options, waves_ahead):
    queue = Queue(options.heads, options.key_tiles, options.head_tiles, options.blocks, waves_ahead)
    return Simulation(queue, options.heads, options.key_tiles, options.head_tiles, options.blocks, options.walk_us,
                      options.errand_us).run()


def parser():
    result = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    result.add_argument("--heads", type=int, required=True, help="key heads of all sequences")
    result.add_argument("--key-tiles", type=int, required=True, help="of a head; each has a walk")
    result.add_argument("--head-tiles", type=int, required=True, help="of queries, of a key head's group")
    result.add_argument("--walk-us", type=float, required=True, help="of a walk over keys")
    result.add_argument("--errand-us", type=float, required=True, help="of one tile prepared or converted")
    result.add_argument("--blocks", type=int, default=132)
    result.add_argument("--waves-ahead", type=float, nargs="+", default=[2.0])
    return result


def main(arguments):
    options = parser().parse_args(arguments)
    for name in ("heads", "key_tiles", "head_tiles", "blocks"):
        if getattr(options, name) < 1:
            parser().error(f"--{name.replace('_', '-')}: {getattr(options, name)} is not at least 1")
    if min(options.walk_us, options.errand_us, *options.waves_ahead) < 0:
        parser().error("--walk-us, --errand-us and --waves-ahead are not below 0")
    print("waves_ahead  total_us  walks_us  wait_prepared_us  wait_visited_us")
    for waves in options.waves_ahead:
        of = simulated(options, waves)
        walks = options.heads * options.key_tiles * options.walk_us / options.blocks
        print(f"{waves:11g}  {of.end:8.0f}  {walks:8.0f}  {of.wait_prepared / options.blocks:16.0f}"
              f"  {of.wait_visited / options.blocks:15.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
