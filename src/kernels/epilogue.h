// What the runtime may fold into the end of a matrix product or a convolution: a per-channel affine
// map (batch normalisation, bias) and a clamp (relu, hardtanh). Handed to a kernel as its
// `prepared` data; the channel is the one the kernel's weights produce.
#ifndef SC_EPILOGUE_H
#define SC_EPILOGUE_H

#include "base/base.h"

typedef struct sc_epilogue {
    const float *scale;  // per output channel, or NULL for 1
    const float *shift;  // per output channel, or NULL for 0; added after the scale
    bool clamps;
    float low, high;  // when `clamps`; NaN passes through unchanged
} sc_epilogue;

#endif
