# SPDX-License-Identifier: MIT
"""Functions whose growth is known by their loops, which make no objects: small numbers cost less than large ones.
Small sizes are called more often, so that every size takes a while; the whole takes about half a second."""
import itertools
import sys


def constant(rows):
    total = 0
    for i in range(300):
        total += i
    return total


def linear(rows):
    last = None
    for row in rows:
        last = row
    return last


def n_log_n(rows):
    for row in rows:
        for step in itertools.repeat(None, 16 * len(rows).bit_length()):
            pass


def square(rows):
    total = 0
    for row in rows:
        for other in rows:
            total = other
    return total


def cube(rows):
    total = 0
    for row in rows:
        for other in rows:
            for third in rows:
                total = third
    return total


def calls_square(rows):
    return square(rows)


def of_number(n):
    for row in itertools.repeat(None, n):
        for column in itertools.repeat(None, n):
            pass


def pairs(left, right):
    total = 0
    for a in left:
        for b in right:
            total = b
    return total


def halves(rows):
    """Growth of a single run: recursion has every size."""
    if len(rows) > 1:
        middle = len(rows) // 2
        halves(rows[:middle])
        halves(rows[middle:])
        for row in rows:
            for k in range(8):
                pass


def naive(n):
    """Every step makes it 1.62 times as much work."""
    return n if n < 2 else naive(n - 1) + naive(n - 2)


def sizes(largest, n=12, smallest=1):
    """Up and down again, each size once: a machine that slows down meanwhile is not taken for growth."""
    all_sizes = sorted({max(1, round(smallest * (largest / smallest) ** (i / (n - 1)))) for i in range(n)})
    return all_sizes[::2] + all_sizes[1::2][::-1]


def grow(function, largest, smallest=1):
    for size in sizes(largest, 12, smallest):
        rows = [None] * size
        for again in range(1 + min(20, (largest // size) ** 2)):
            function(rows)


def everything():
    for size in sizes(1000):
        rows = [None] * size
        for again in range(21):  # short calls: one disturbed moment of two would be their time
            constant(rows)
    grow(linear, 20000)
    grow(n_log_n, 2000)
    # From sizes on where the inner loop is most of the time: what the outer one takes itself is growth of a lower order.
    grow(square, 1000, 10)
    grow(cube, 150, 6)
    grow(calls_square, 1000, 10)
    for size in sizes(1200, 12, 10):
        for again in range(1 + min(20, (1200 // size) ** 2)):
            of_number(size)
    for left in sizes(400, 6, 5):
        for right in sizes(400, 6, 5):
            pairs([None] * left, [None] * right)
    halves(list(range(1 << 13)))
    naive(20)


def same_size():
    """Programs whose sizes do not change have nothing to be said about."""
    rows = list(range(300))
    for again in range(200):
        constant(rows)
        linear(rows)
        n_log_n(rows)
    square(rows)


def noise():
    """Time that has nothing to do with the sizes there are."""
    state = 12345

    def noisy(rows, text):
        total = 0
        for i in range(2000 + state % 20000):
            total += i
        return total

    for size in sizes(1000, 20) * 5:
        state = (state * 1103515245 + 12345) % (1 << 31)
        noisy(list(range(size)), "x" * (state % 7))


def arrays():
    import numpy

    def sides(a):
        for row in itertools.repeat(None, a.shape[0]):
            for column in itertools.repeat(None, a.shape[1]):
                pass

    def elements(v):
        for i in itertools.repeat(None, len(v)):
            pass

    for size in sizes(900, 12, 10):
        for again in range(1 + min(20, (900 // size) ** 2)):
            sides(numpy.zeros((size, size), numpy.uint8))
            elements(numpy.zeros(size * 20))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
