"""torchvision without its operators: where its compiled part was built for another PyTorch, as it
is for one without a GPU, the package cannot even be imported. Their names are enough for that; rows
that would compute with them fail by saying so."""

import torch

ANY = "(Tensor dets, Tensor scores, float threshold) -> Tensor"
KEPT = []


def declare():
    """Called before torchvision is imported."""
    from importlib.util import find_spec
    from pathlib import Path

    found = find_spec("torchvision")
    if found is None:
        raise SystemExit(
            "torchvision, timm and transformers are missing: npm run conformance -- tour"
        )
    folder = Path(found.origin).parent
    try:
        torch.ops.load_library(str(folder / "_C.so"))
    except OSError:
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(name + ANY)
        KEPT.append(library)  # what it declares goes with it
