"""Pictures that models are judged on."""

import zlib


def paeth(a, b, c):
    p = a + b - c
    return min(((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c)))[2]


def read_png(path):
    """The pixels of a picture of 8 bits for each of three colours: height, width, 3."""
    import numpy

    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        size, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        packed += data[at + 8 : at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    width, height = (int.from_bytes(data[i : i + 4], "big") for i in (16, 20))
    assert data[24:29] == bytes([8, 2, 0, 0, 0])
    rows, above, stride = zlib.decompress(packed), [0] * (3 * width + 3), 3 * width
    picture = numpy.zeros((height, stride), numpy.uint8)
    for y in range(height):
        kind, row = rows[y * (stride + 1)], [0, 0, 0]
        for i, byte in enumerate(rows[y * (stride + 1) + 1 : (y + 1) * (stride + 1)]):
            a, b, c = row[i], above[i + 3], above[i]
            added = (0, a, b, (a + b) >> 1, paeth(a, b, c))[kind]
            row.append((byte + added) & 255)
        above, picture[y] = row, row[3:]
    return picture.reshape(height, width, 3)
