"""Writes tests/data/pictures/digests.json, by SHA-256: what Pillow makes of pictures in other
sizes, and what torchvision's ToTensor and Normalize make of bytes. Run with a Python that has
Pillow 13:

    python tests/make/make_picture_digests.py tests/data/pictures/digests.json
"""

import usage  # noqa: F401
import argparse
import hashlib
import json

import numpy as np
from PIL import Image, ImageOps

SIZES = [
    # width and height before and after
    (64, 48, 32, 24),
    (64, 48, 100, 37),
    (333, 250, 224, 224),
    (17, 5, 224, 224),
    (1, 1, 7, 3),
    (640, 480, 320, 240),
    (101, 99, 101, 50),
    (31, 77, 224, 100),
    (5, 4, 5, 4),
    (300, 200, 1, 1),
]


def picture(width, height):
    """Noise that the test makes too."""
    at = np.arange(width * height * 3, dtype=np.uint64)
    noise = (at * np.uint64(2654435761) + np.uint64(12345)) % np.uint64(1 << 32)
    return ((noise >> np.uint64(13)) & np.uint64(255)).astype(np.uint8).reshape(height, width, 3)


def fitted(image, size, fit):
    if fit == "cover":
        return ImageOps.fit(image, size, Image.BILINEAR)
    if fit == "contain":
        color = (7, 8, 9) if image.mode == "RGB" else 7
        return ImageOps.pad(image, size, Image.BILINEAR, color=color)
    return image.resize(size, Image.BILINEAR)


def cases():
    for width, height, *size in SIZES:
        colours = Image.fromarray(picture(width, height))
        for image in (colours, colours.convert("L")):
            for fit in ("stretch", "cover", "contain"):
                made = np.asarray(fitted(image, tuple(size), fit))
                yield {
                    "from": [height, width],
                    "to": size[::-1],
                    "channels": image.mode,
                    "fit": fit,
                    "digest": hashlib.sha256(made.tobytes()).hexdigest(),
                }


def normalized():
    """All bytes of each channel, step by step in float32."""
    unit = np.arange(256, dtype=np.float32) / np.float32(255)
    mean = np.array([0.485, 0.456, 0.406], np.float32)
    std = np.array([0.229, 0.224, 0.225], np.float32)
    planes = (unit[None] - mean[:, None]) / std[:, None]
    return hashlib.sha256(planes.tobytes()).hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    args = parser.parse_args()
    with open(args.file, "w") as file:
        json.dump({"normalized": normalized(), "cases": list(cases())}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
