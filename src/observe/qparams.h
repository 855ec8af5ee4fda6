// From ranges to scales and zero points, all in float32 as PyTorch's observers compute them.
// Prefix: sc_qparams_ (scale and zero point).
#ifndef SC_QPARAMS_H
#define SC_QPARAMS_H

#include "base/base.h"

// 2^-12: the smallest scale of PT2E's quantizers.
#define SC_QPARAMS_EPS 0.000244140625f

typedef struct sc_qparams {
    float scale;  // infinite where the range is wider than float32 can say; never NaN or 0
    int32_t zero_point;
} sc_qparams;

// For [low, high] widened to hold 0, of integers quant_min < quant_max. `eps` > 0.
sc_qparams sc_qparams_affine(float low, float high, int32_t quant_min, int32_t quant_max,
                             float eps);
// The same with 0 as zero point: as far below it as above. torchao's SYMMETRIC is the same, with an
// eps of its own.
sc_qparams sc_qparams_symmetric(float low, float high, int32_t quant_min, int32_t quant_max,
                                float eps);

#endif
