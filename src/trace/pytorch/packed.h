// Constants of 4 bits. Private to src/trace/pytorch. Prefix sc_pytorch_: shared by the expansions
// here.
#ifndef SC_PYTORCH_PACKED_H
#define SC_PYTORCH_PACKED_H

#include "trace/trace.h"

// torchao's dequantize_affine of a constant that fits into 4 bits, as an operator that reads two of
// them a byte; NULL if it has to be decomposed.
sc_x sc_pytorch_packed(sc_trace *t, const sc_x *a);

#endif
