#include "observe/qparams.h"

#include <math.h>

// The difference may be beyond float32 where the quotient is not.
static float divided(float high, float low, float by) {
    const float width = high - low;
    return isinf(width) ? high / by - low / by : width / by;
}

sc_qparams sc_qparams_affine(float low, float high, int32_t quant_min, int32_t quant_max,
                             float eps) {
    low = low < 0 ? low : 0;
    high = high > 0 ? high : 0;
    const float scale = fmaxf(divided(high, low, (float)(quant_max - quant_min)), eps);
    const float most = (float)(quant_max - quant_min);
    const int32_t below = (int32_t)fminf(nearbyintf(-low / scale), most);
    return (sc_qparams){.scale = scale, .zero_point = quant_min + below};
}

sc_qparams sc_qparams_symmetric(float low, float high, int32_t quant_min, int32_t quant_max,
                                float eps) {
    const float largest = fmaxf(fmaxf(-low, high), 0);
    return (sc_qparams){.scale = fmaxf(largest / ((float)(quant_max - quant_min) / 2), eps)};
}
