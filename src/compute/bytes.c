// In wasm: -O3
#include "compute/bytes.h"

#include "compute/simd/simd_i8.h"

static int lowest_of(bool is_unsigned) { return is_unsigned ? 0 : -128; }

static int32_t clamp_int(int32_t value, int32_t low, int32_t high) {
    value = value > low ? value : low;
    return value < high ? value : high;
}

// --- From floats and back ------------------------------------------------------------------------

// Reads four numbers at a time, of which at most `count` exist.
static v4f load_some(const float *x, size_t count) {
    return count >= 4 ? v4f_load(x) : v4f_load_part(x, count);
}

// (x * inverse) rounded, in [low, high] before `zero` is added.
static void quantize(const float *x, size_t count, float inverse, const v4_rounding *r,
                     uint8_t *q) {
    for (size_t i = 0; i < count; i += 4) {
        const size_t left = count - i < 4 ? count - i : 4;
        const v4i v = v4i_round(r, load_some(x + i, left) * inverse);
        for (size_t k = 0; k < left; k++) q[i + k] = (uint8_t)v[k];
    }
}

void sc_bytes_of_floats(const sc_grid *grid, const float *x, size_t count, void *q) {
    const float low = (float)(lowest_of(grid->is_unsigned) - grid->zero);
    const v4_rounding r = v4_rounding_of(low, low + 255, grid->zero);
    quantize(x, count, 1.0f / grid->scale, &r, q);
}

void sc_floats_of_bytes(const sc_grid *grid, const void *q, size_t count, float *x) {
    const int8_t *from = q;
    const uint8_t *from_unsigned = q;
    for (size_t i = 0; i < count; i++) {
        const int32_t value = grid->is_unsigned ? from_unsigned[i] : from[i];
        x[i] = (float)(value - grid->zero) * grid->scale;
    }
}

// --- A grid for each row -------------------------------------------------------------------------

static void range_of(const float *x, size_t count, float *low, float *high) {
    v4f least = v4f_zero(), most = v4f_zero();
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        const v4f v = v4f_load(x + i);
        least = v4f_pmin(least, v);
        most = v4f_pmax(most, v);
    }
    const v4f rest = v4f_load_part(x + i, count - i);
    least = v4f_pmin(least, rest);
    most = v4f_pmax(most, rest);
    *low = *high = 0;
    for (int k = 0; k < 4; k++) {
        *low = least[k] < *low ? least[k] : *low;
        *high = most[k] > *high ? most[k] : *high;
    }
}

void sc_bytes_of_row(const float *x, size_t count, int8_t *q, int32_t *zero, float *scale) {
    float low, high;
    range_of(x, count, &low, &high);
    const float inverse = low == high ? 1.0f : 255.0f / (high - low);
    const float a = low * inverse, b = high * inverse;
    const float nudged = (-128 + a) + (127 + b) > 0 ? -128 - a : 127 - b;
    const float bounded = nudged > -128 ? (nudged < 127 ? nudged : 127) : -128;
    *zero = (int32_t)__builtin_nearbyintf(bounded);
    *scale = 1.0f / inverse;
    const float least = (float)(-128 - *zero);
    const v4_rounding r = v4_rounding_of(least, least + 255, *zero);
    quantize(x, count, inverse, &r, (uint8_t *)q);
}

// --- From bytes to bytes -------------------------------------------------------------------------

// One result for each of the 256 possible values.
static void look_up(const uint8_t table[256], const uint8_t *x, size_t count, uint8_t *q) {
    for (size_t i = 0; i < count; i++) q[i] = table[x[i]];
}

// The ratio of the scales in steps of 1/256, as long as it is no more than 128 and not too small.
static int32_t convert(const sc_grid *from, const sc_grid *to, int32_t x) {
    const int low = lowest_of(to->is_unsigned);
    const float ratio = from->scale / to->scale;
    if (ratio >= 0x1p-8f && ratio <= 0x1p+7f) {
        const int32_t multiplier = (int32_t)__builtin_nearbyintf(256.0f * ratio);
        const int32_t sum = to->zero * 256 + (x - from->zero) * multiplier + 128;
        return clamp_int(sum >> 8, low, low + 255);
    }
    const float value = (float)(x - from->zero) * ratio, least = (float)(low - to->zero);
    const v4_rounding r = v4_rounding_of(least, least + 255, to->zero);
    return v4i_round(&r, v4f_splat(value))[0];
}

void sc_bytes_of_bytes(const sc_grid *from, const sc_grid *to, const void *x, size_t count,
                       void *q) {
    uint8_t table[256];
    for (int i = 0; i < 256; i++)
        table[i] = (uint8_t)convert(from, to, from->is_unsigned ? i : (int8_t)(uint8_t)i);
    look_up(table, x, count, q);
}

// Unsigned bytes are computed as signed ones that are 128 less, with zero points that are 128 less.
static uint8_t flip_of(bool is_unsigned) { return is_unsigned ? 0x80 : 0; }

void sc_bytes_clamp(bool is_unsigned, int low, int high, const void *x, size_t count, void *q) {
    const uint8_t flip = flip_of(is_unsigned), *from = x;
    const int8_t least = (int8_t)(low ^ flip), most = (int8_t)(high ^ flip);
    uint8_t *to = q;
    for (size_t i = 0; i < count; i++) {
        int8_t v = (int8_t)(from[i] ^ flip);
        v = v > least ? v : least;
        v = v < most ? v : most;
        to[i] = (uint8_t)v ^ flip;
    }
}

// --- Two operands --------------------------------------------------------------------------------

// Sums: (a * a_multiplier + b * b_multiplier + bias) >> shift, and the zero point. Products: the
// product of both less their zero points, requantized by `scale`.
typedef struct prepared {
    bool multiplies;
    int32_t a_multiplier, b_multiplier;
    uint32_t bias;
    int shift;
    int32_t a_zero, b_zero, zero;
    float scale;
    v4_rounding rounding;
    v4i low, high;
} prepared;

static v4i splat(int32_t x) { return (v4i){x, x, x, x}; }

static bool in_range(float ratio) { return ratio >= 0x1p-10f && ratio < 0x1p+8f; }

static int32_t multiplier_of(float ratio, int shift) {
    return (int32_t)__builtin_nearbyintf(ratio * (float)(1 << shift));
}

// The shift gives the larger factor 21 bits. False for ratios of which XNNPACK has no sums.
static bool prepare_sum(const sc_bytes_binary *binary, prepared *p) {
    const float a = binary->a.scale / binary->out.scale, b = binary->b.scale / binary->out.scale;
    int exponent = 0;
    if (!in_range(a) || !in_range(b)) return false;
    for (float most = a > b ? a : b; most >= 2; most /= 2) exponent++;
    for (float most = a > b ? a : b; most < 1; most *= 2) exponent--;
    p->shift = 20 - exponent;
    p->a_multiplier = multiplier_of(a, p->shift);
    p->b_multiplier = multiplier_of(b, p->shift);
    if (binary->op == SC_BYTES_SUBTRACT) p->b_multiplier = -p->b_multiplier;
    p->bias = (1u << (p->shift - 1)) - (uint32_t)p->a_multiplier * (uint32_t)p->a_zero -
              (uint32_t)p->b_multiplier * (uint32_t)p->b_zero;
    return true;
}

static void prepare_product(const sc_bytes_binary *binary, prepared *p) {
    const float low = (float)(-128 - p->zero);
    p->multiplies = true;
    p->scale = binary->a.scale * binary->b.scale / binary->out.scale;
    p->rounding = v4_rounding_of(low, low + 255, p->zero);
}

// Reads eight numbers, or one number for all lanes. A flipped byte, widened, is a widened byte with
// all bits but the lower seven flipped.
static inline v8h load_bytes(const uint8_t *x, size_t step, size_t count, uint8_t flip) {
    const int16_t bits = flip ? -0x80 : 0;
    int8_t bytes[8];
    if (step == 1 && count == 8) return v8h_widen((const int8_t *)x) ^ bits;
    for (size_t i = 0; i < 8; i++) bytes[i] = (int8_t)x[(i < count ? i : 0) * step];
    return v8h_widen(bytes) ^ bits;
}

static inline void store_flipped(uint8_t *to, v4i low, v4i high, size_t count, uint8_t flip) {
    if (count == 8)
        v4i_store_bytes((int8_t *)to, low, high);
    else
        v4i_store_bytes_part((int8_t *)to, low, high, count);
    if (!flip) return;
    for (size_t i = 0; i < count; i++) to[i] ^= flip;
}

static inline v4i four_of(const prepared *p, v4i a, v4i b) {
    v4i v;
    if (p->multiplies) {
        const v4i product = (a - p->a_zero) * (b - p->b_zero);
        v = v4i_round(&p->rounding, v4f_of_sums((v4u)product) * p->scale);
    } else {
        const v4u sum = (v4u)a * (uint32_t)p->a_multiplier + (v4u)b * (uint32_t)p->b_multiplier;
        v = ((v4i)(sum + p->bias) >> p->shift) + p->zero;
    }
    return v4i_min(v4i_max(v, p->low), p->high);
}

// Computes in floats, as XNNPACK does for all other cases.
static void run_floats(const sc_bytes_binary *binary, const uint8_t *a, size_t a_step,
                       const uint8_t *b, size_t b_step, size_t count, uint8_t *q) {
    const sc_grid *out = &binary->out;
    const int least = lowest_of(out->is_unsigned);
    const float inverse = 1.0f / out->scale, zero = (float)out->zero;
    const v4_rounding r = v4_rounding_of((float)least, (float)least + 255, 0);
    for (size_t i = 0; i < count; i++) {
        float x, y;
        sc_floats_of_bytes(&binary->a, a + i * a_step, 1, &x);
        sc_floats_of_bytes(&binary->b, b + i * b_step, 1, &y);
        const float sum = binary->op == SC_BYTES_SUBTRACT ? x - y : x + y;
        q[i] = (uint8_t)clamp_int(v4i_round(&r, v4f_splat(sum * inverse + zero))[0], binary->low,
                                  binary->high);
    }
}

void sc_bytes_run_binary(const sc_bytes_binary *binary, const void *a, size_t a_step, const void *b,
                         size_t b_step, size_t count, void *q) {
    const uint8_t flip = flip_of(binary->out.is_unsigned), *from_a = a, *from_b = b;
    prepared p = {.a_zero = binary->a.zero - flip,
                  .b_zero = binary->b.zero - flip,
                  .zero = binary->out.zero - flip,
                  .low = splat(binary->low - flip),
                  .high = splat(binary->high - flip)};
    if (binary->op == SC_BYTES_MULTIPLY) {
        prepare_product(binary, &p);
    } else if (!prepare_sum(binary, &p)) {
        run_floats(binary, a, a_step, b, b_step, count, q);
        return;
    }
    for (size_t i = 0; i < count; i += 8) {
        const size_t left = count - i < 8 ? count - i : 8;
        const v8h x = load_bytes(from_a + i * a_step, a_step, left, flip);
        const v8h y = load_bytes(from_b + i * b_step, b_step, left, flip);
        store_flipped((uint8_t *)q + i, four_of(&p, v4i_widen_low(x), v4i_widen_low(y)),
                      four_of(&p, v4i_widen_high(x), v4i_widen_high(y)), left, flip);
    }
}
