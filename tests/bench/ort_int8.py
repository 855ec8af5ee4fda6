"""The face detector in 8 bits by onnxruntime's own tool, calibrated on the bundled photograph:
weights by channel, each operator between QuantizeLinear and DequantizeLinear. Next to it, as
face-photo.f32, the photograph as the detector takes it, so that both engines get the same numbers.

The tool asks for folded normalizations and, for scales by channel, an opset of 13 or later. The
operators are those that XNNPACK's quantizer takes on this network; what makes boxes and scores of
its answers (exponentials, divisions, the softmax) stays with floats on both sides. Bytes have a
sign, which is the tool's default, and here a little faster than without.
"""

import sys
import tempfile
from pathlib import Path

import numpy
import onnx
from onnxruntime.quantization import CalibrationDataReader, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "conformance"))

from picture import read_png  # noqa: E402

OPSET = 17
OPS = ["Conv", "Add", "Mul", "Relu", "Concat", "Transpose", "Reshape"]


class Calls(CalibrationDataReader):
    def __init__(self, *calls):
        self.calls = iter(calls)

    def get_next(self):
        return next(self.calls, None)


def photo():
    pixels = read_png(ROOT / "models" / "face-photo.320x240.png").astype(numpy.float32)
    return numpy.ascontiguousarray((pixels.transpose(2, 0, 1)[None] - 127) / 128)


def write_face(folder, name):
    image = photo()
    image.tofile(folder / "face-photo.f32")
    model = onnx.load(ROOT / "tests" / "bench" / "face-rfb320.onnx")
    with tempfile.TemporaryDirectory() as made:
        newer, folded = Path(made) / "newer.onnx", Path(made) / "folded.onnx"
        onnx.save(onnx.version_converter.convert_version(model, OPSET), newer)
        quant_pre_process(newer, folded)
        call = {model.graph.input[0].name: image}
        quantize_static(
            folded, folder / f"{name}.onnx", Calls(call), per_channel=True, op_types_to_quantize=OPS
        )
