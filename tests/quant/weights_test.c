// Weights against PyTorch and torchao: tests/quant/weights.txt, which
// tests/make/make_weight_data.py writes. Bases are read through a source that is not in memory and
// again through one that is, and everything computed in pieces of any size.
//
//   weight NAME DTYPE SIZES...
//   make RECIPE COUNT SEED A B
//   factors AXIS BITS...
//   ranges SLICES LOWS HIGHS                            digests; SLICES: whole | axis N | groups N
//   quantize SLICES MIN MAX EPS OWN SCALES INTEGERS     of those ranges
//   convert DTYPE BYTES
#include "quant/weights.h"

#include "observe/qparams.h"
#include "quant/numbers.h"

typedef struct setting {
    setup s;
    char name[48];
    uint32_t rank;
    int64_t sizes[4];
    sc_weight weight;
    sc_slices slices;
    float *lows, *highs;
    sc_source hidden;
    const uint8_t *bytes;
    uint64_t longest_read;
} setting;

static sc_status read_hidden(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                             size_t bytes) {
    setting *t = source->user;
    (void)ctx;
    memcpy(out, t->bytes + offset, bytes);
    t->longest_read = sc_max_u64(t->longest_read, bytes);
    return SC_OK;
}

static sc_dtype dtype_of(const char *name) {
    if (!strncmp(name, "f16", 3)) return SC_DTYPE_F16;
    return strncmp(name, "bf16", 4) ? SC_DTYPE_F32 : SC_DTYPE_BF16;
}

// --- Making weights ------------------------------------------------------------------------------

static void put(setting *t, const float *x, size_t count) {
    const uint32_t item_bytes = sc_dtype_bytes(t->weight.dtype);
    uint8_t *bytes = sc_arena_alloc(&t->s.arena, count * item_bytes);
    for (size_t i = 0; i < count; i++) {
        const uint16_t half =
            t->weight.dtype == SC_DTYPE_F16 ? sc_f32_to_f16(x[i]) : sc_f32_to_bf16(x[i]);
        memcpy(bytes + i * item_bytes, item_bytes == 2 ? (const void *)&half : &x[i], item_bytes);
    }
    t->bytes = bytes;
    t->hidden = (sc_source){.read = read_hidden, .size = count * item_bytes, .user = t};
    t->weight.elements = count;
    t->weight.data = sc_extent_whole(&t->hidden);
}

static void begin(setting *t, char *line) {
    char dtype[8];
    int at;
    t->weight = (sc_weight){0};
    t->rank = 0;
    if (!CHECK(sscanf(line, "weight %47s %7s%n", t->name, dtype, &at) == 2)) return;
    t->weight.dtype = dtype_of(dtype);
    for (char *next = line + at; *next && t->rank < 4; t->rank++)
        t->sizes[t->rank] = strtoll(next, &next, 10);
}

static void read_factors(setting *t, char *line) {
    char *at;
    const uint32_t axis = (uint32_t)strtoul(line + strlen("factors"), &at, 10);
    float *factors = sc_new_array(&t->s.arena, float, (size_t)t->sizes[axis]);
    for (int64_t i = 0; i < t->sizes[axis]; i++)
        factors[i] = numbers_float_of((uint32_t)strtoul(at, &at, 16));
    t->weight.factors = factors;
    t->weight.factored = sc_slices_axis(t->rank, t->sizes, axis);
}

// --- Converted weights ---------------------------------------------------------------------------

// Reads everything at once and in pieces, which must be the same.
static const uint8_t *read_all(setting *t, sc_extent extent) {
    uint8_t *whole = sc_arena_alloc(&t->s.arena, (size_t)extent.size);
    uint8_t *pieces = sc_arena_alloc(&t->s.arena, (size_t)extent.size);
    CHECK_OK(sc_extent_read(&t->s.ctx, extent, 0, whole, (size_t)extent.size));
    for (uint64_t at = 0, size = 1; at < extent.size; size = size % 61 + 5) {
        const size_t part = (size_t)sc_min_u64(size, extent.size - at);
        CHECK_OK(sc_extent_read(&t->s.ctx, extent, at, pieces + at, part));
        at += part;
    }
    CHECK_EQ_MEM(pieces, whole, (size_t)extent.size);
    return whole;
}

static void check(const setting *t, uint32_t number, const char *what, const void *data,
                  size_t bytes, const char *digest) {
    char own[17];
    snprintf(own, sizeof own, "%016llx", (unsigned long long)numbers_digest(data, bytes));
    if (strcmp(own, digest) != 0) FAIL("%s, line %u: other %s", t->name, number, what);
}

// Reads what SLICES says, and returns what follows it.
static char *read_slices(setting *t, char *line) {
    if (!strncmp(line, "whole", 5)) {
        t->slices = sc_slices_whole(t->weight.elements);
        return line + 5;
    }
    const bool is_axis = !strncmp(line, "axis", 4);
    const uint64_t n = strtoull(strchr(line, ' '), &line, 10);
    t->slices = is_axis ? sc_slices_axis(t->rank, t->sizes, (uint32_t)n)
                        : sc_slices_groups(t->weight.elements, n);
    return line;
}

static void check_ranges(setting *t, char *line, uint32_t number) {
    char low[17], high[17];
    const char *rest = read_slices(t, line + strlen("ranges "));
    if (!CHECK(sscanf(rest, "%16s %16s", low, high) == 2)) return;
    const size_t count = (size_t)t->slices.count;
    t->lows = sc_new_array(&t->s.arena, float, count);
    t->highs = sc_new_array(&t->s.arena, float, count);
    CHECK_OK(sc_weight_ranges(&t->s.ctx, &t->weight, t->slices, t->lows, t->highs));
    check(t, number, "lows", t->lows, count * sizeof *t->lows, low);
    check(t, number, "highs", t->highs, count * sizeof *t->highs, high);
}

static float scale_of(const setting *t, uint64_t slice, int low, int high, float eps, bool own) {
    const float scale = sc_qparams_symmetric(t->lows[slice], t->highs[slice], low, high, eps).scale;
    if (own && t->weight.dtype == SC_DTYPE_F16) return sc_f16_to_f32(sc_f32_to_f16(scale));
    if (own && t->weight.dtype == SC_DTYPE_BF16) return sc_bf16_to_f32(sc_f32_to_bf16(scale));
    return scale;
}

static void check_integers(setting *t, char *line, uint32_t number) {
    int low, high, own;
    char eps[9], scales_digest[17], digest[17];
    const char *rest = read_slices(t, line + strlen("quantize "));
    if (!CHECK(sscanf(rest, "%d %d %8s %d %16s %16s", &low, &high, eps, &own, scales_digest,
                      digest) == 6))
        return;
    const float least = numbers_float_of((uint32_t)strtoul(eps, NULL, 16));
    float *scales = sc_new_array(&t->s.arena, float, (size_t)t->slices.count);
    for (uint64_t k = 0; k < t->slices.count; k++)
        scales[k] = scale_of(t, k, low, high, least, own);
    check(t, number, "scales", scales, (size_t)t->slices.count * sizeof *scales, scales_digest);
    const sc_weight_grid grid = {.slices = t->slices,
                                 .scales = scales,
                                 .quant_min = (int8_t)low,
                                 .quant_max = (int8_t)high,
                                 .in_own_dtype = own};
    const sc_extent integers = sc_weight_quantized(&t->s.arena, &t->weight, &grid);
    CHECK_EQ_UINT(integers.size, t->weight.elements);
    check(t, number, "integers", read_all(t, integers), (size_t)integers.size, digest);
}

static void check_converted(setting *t, const char *line, uint32_t number) {
    char dtype[8], digest[17];
    if (!CHECK(sscanf(line, "convert %7s %16s", dtype, digest) == 2)) return;
    const sc_extent converted = sc_weight_converted(&t->s.arena, &t->weight, dtype_of(dtype));
    CHECK_EQ_UINT(converted.size, t->weight.elements * sc_dtype_bytes(dtype_of(dtype)));
    check(t, number, dtype, read_all(t, converted), (size_t)converted.size, digest);
}

static void follow(setting *t, char *line, uint32_t number) {
    size_t count;
    if (!strncmp(line, "weight", 6)) begin(t, line);
    if (!strncmp(line, "make", 4)) {
        const float *x = numbers_make_tensor(&t->s, line, &count);
        if (x) put(t, x, count);
    }
    if (!strncmp(line, "factors", 7)) read_factors(t, line);
    if (!strncmp(line, "ranges", 6)) check_ranges(t, line, number);
    if (!strncmp(line, "quantize", 8)) check_integers(t, line, number);
    if (!strncmp(line, "convert", 7)) check_converted(t, line, number);
}

static void follow_all(bool in_memory) {
    static setting t;
    size_t bytes;
    char *line = test_read("quant/weights.txt", &bytes);
    uint32_t number = 0;
    if (!line) return;
    setup_begin(&t.s);
    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        follow(&t, line, ++number);
        t.hidden.memory = in_memory ? t.bytes : NULL;
    }
    CHECK(number > 100);
    setup_end(&t.s);
}

TEST(weights_become_what_pytorch_makes_of_them) { follow_all(false); }

TEST(weights_in_memory_become_the_same) { follow_all(true); }
