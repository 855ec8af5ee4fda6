"""Values as JSON, as values.mjs reads and writes them: tensors with their bytes in base64."""

import base64


def encoded(value):
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    raw = value.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    dtype = str(value.dtype).split(".")[1]
    data = base64.b64encode(raw).decode()
    return {"dtype": dtype, "shape": list(value.shape), "data": data}


def decoded(value):
    import torch

    if not isinstance(value, dict):
        return value
    if "dtype" not in value:
        return int(value["integer"]) if "integer" in value else float(value["float"])
    raw, dtype = bytearray(base64.b64decode(value["data"])), getattr(torch, value["dtype"])
    flat = torch.frombuffer(raw, dtype=dtype) if raw else torch.empty(0, dtype=dtype)
    return flat.reshape(value["shape"])
