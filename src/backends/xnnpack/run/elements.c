// Element-wise nodes. Floats use the rows of the portable kernels, block by block, with the
// output's range in the same pass. Bytes use functions of their own, or a table of all 256 results.
#include <math.h>

#include "backends/xnnpack/run/delegate.h"
#include "base/parallel.h"

enum { OPERANDS_MAX = 2 };

// --- Rows ----------------------------------------------------------------------------------------

static void hardswish(float *x, const float *a, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        float gate = a[i] + 3.0f;
        gate = gate < 0.0f ? 0.0f : gate > 6.0f ? 6.0f : gate;
        x[i] = a[i] * gate / 6.0f;
    }
}

static void prelu(float *x, const float *a, const float *slope, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] = a[i] < 0.0f ? a[i] * slope[i] : a[i];
}

static const sc_pw_row *row_of(unsigned kind) {
    switch (kind) {
    case SC_XNN_ADD: return &sc_pw_add;
    case SC_XNN_SUBTRACT: return &sc_pw_sub;
    case SC_XNN_MULTIPLY: return &sc_pw_mul;
    case SC_XNN_DIVIDE: return &sc_pw_div;
    case SC_XNN_MINIMUM: return &sc_pw_minimum;
    case SC_XNN_MAXIMUM: return &sc_pw_maximum;
    case SC_XNN_SIGMOID: return &sc_pw_sigmoid;
    case SC_XNN_CLAMP: return &sc_pw_hardtanh;
    case SC_XNN_FLOOR: return &sc_pw_floor;
    case SC_XNN_SQUARE_ROOT: return &sc_pw_sqrt;
    case SC_XNN_CEILING: return &sc_pw_ceil;
    case SC_XNN_LEAKY_RELU: return &sc_pw_leaky_relu;
    case SC_XNN_NEGATE: return &sc_pw_neg;
    case SC_XNN_SQUARE: return &sc_pw_square;
    case SC_XNN_ELU: return &sc_pw_elu;
    case SC_XNN_ABS: return &sc_pw_abs;
    case SC_XNN_RSQRT: return &sc_pw_rsqrt;
    case SC_XNN_LOG: return &sc_pw_log;
    case SC_XNN_GELU: return &sc_pw_gelu;
    case SC_XNN_TANH: return &sc_pw_tanh;
    case SC_XNN_EXP: return &sc_pw_exp;
    case SC_XNN_SIN: return &sc_pw_sin;
    case SC_XNN_COS: return &sc_pw_cos;
    default: return NULL;  // has its own loop above
    }
}

static sc_pw_params params_of(const sc_xnn_node *node) {
    switch (node->kind) {
    case SC_XNN_ADD:
    case SC_XNN_SUBTRACT: return (sc_pw_params){.real = {1}};
    case SC_XNN_CLAMP: {
        double low = node->has_range ? (double)node->low : -INFINITY;
        double high = node->has_range ? (double)node->high : INFINITY;
        return (sc_pw_params){.real = {low, high}};
    }
    case SC_XNN_ELU: return (sc_pw_params){.real = {(double)node->value, 1, 1}};
    default: return (sc_pw_params){.real = {(double)node->value}};
    }
}

// `n` floats, which may overlap an operand.
static void compute(const sc_xnn_node *node, const sc_pw_params *params, float *out,
                    const void *const *in, int64_t n) {
    if (node->kind == SC_XNN_HARDSWISH)
        hardswish(out, in[0], n);
    else if (node->kind == SC_XNN_PRELU)
        prelu(out, in[0], in[1], n);
    else
        row_of(node->kind)->loops[SC_CLASS_F32](out, in, params, n);
}

// Nanoseconds for a float.
static double cost_of(unsigned kind) {
    const sc_pw_row *row = row_of(kind);
    return row ? sc_pointwise_cost(row, SC_CLASS_F32) : SC_COST_SUM;
}

// Kinds whose output range XNNPACK applies, in addition to the one that only clamps.
static bool has_range(const sc_xnn_node *node) {
    return node->has_range && (isfinite(node->low) || isfinite(node->high)) &&
           (node->kind == SC_XNN_ADD || node->kind == SC_XNN_SUBTRACT ||
            node->kind == SC_XNN_MULTIPLY || node->kind == SC_XNN_DIVIDE);
}

// --- Floats --------------------------------------------------------------------------------------

typedef struct operand {
    sc_stream stream;
    sc_load_fn load;
    bool is_direct;  // f32 in the order of the result
    float block[SC_BLOCK];
} operand;

static sc_status open(const sc_xnn_delegate *d, operand *o, const sc_tensor *tensor,
                      const sc_tensor *shape) {
    SC_TRY(sc_stream_open(d->ctx, &o->stream, tensor, shape));
    o->load = sc_loader(SC_CLASS_F32, tensor->dtype);
    o->is_direct = tensor->dtype == SC_DTYPE_F32 && sc_stream_is_dense(&o->stream);
    // One value for all elements: the block is filled once.
    if (sc_stream_is_constant(&o->stream)) o->load(o->block, o->stream.data, 0, SC_BLOCK);
    return SC_OK;
}

static const void *next(operand *o, int64_t at, int64_t n) {
    if (o->is_direct) return (const float *)(const void *)o->stream.data + at;
    if (!sc_stream_is_constant(&o->stream))
        sc_stream_load(&o->stream, o->load, o->block, sizeof(float), n);
    return o->block;
}

typedef struct floats {
    const sc_xnn_step *step;
    const sc_tensor *out;
    sc_pw_params params, range;
    operand operands[OPERANDS_MAX];
    uint32_t count;
    bool is_direct, clamps;
    bool is_plain;  // it gains nothing from blocks
} floats;

// Elements [from, to), with all streams at `from`.
static void run_blocks(floats *f, int64_t from, int64_t to) {
    float results[SC_BLOCK];
    const int64_t block = f->is_plain ? to - from : SC_BLOCK;
    for (int64_t at = from; at < to; at += block) {
        const int64_t n = sc_min_i64(block, to - at);
        float *y = f->is_direct ? (float *)f->out->data + at : results;
        const void *in[3] = {NULL};
        for (uint32_t i = 0; i < f->count; i++) in[i] = next(&f->operands[i], at, n);
        compute(f->step->node, &f->params, y, in, n);
        in[0] = y;
        if (f->clamps) sc_pw_hardtanh.loops[SC_CLASS_F32](y, in, &f->range, n);
        if (f->is_direct) continue;
        sc_storer(SC_CLASS_F32, f->out->dtype)((uint16_t *)f->out->data + at, 1, results, n);
    }
}

// Streams and blocks are those of the part.
static void run_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    floats *whole = work;
    (void)thread;
    if (from == 0 && to == whole->out->numel) {
        run_blocks(whole, from, to);
        return;
    }
    floats part = *whole;
    for (uint32_t i = 0; i < part.count; i++) sc_stream_seek(&part.operands[i].stream, from);
    run_blocks(&part, from, to);
}

static sc_status run_floats(sc_xnn_delegate *d, sc_xnn_step *s) {
    floats f;
    f.step = s;
    f.out = &s->out[0]->tensor;
    f.params = params_of(s->node);
    f.range = (sc_pw_params){.real = {(double)s->node->low, (double)s->node->high}};
    f.is_direct = f.out->dtype == SC_DTYPE_F32;
    f.clamps = has_range(s->node);
    f.is_plain = f.is_direct && !f.clamps;
    double cost = cost_of(s->node->kind) + (f.is_direct ? 0 : SC_COST_CONVERT);
    for (f.count = 0; f.count < OPERANDS_MAX && s->in[f.count]; f.count++) {
        operand *o = &f.operands[f.count];
        SC_TRY(open(d, o, &s->in[f.count]->tensor, f.out));
        f.is_plain = f.is_plain && o->is_direct;
        if (!o->is_direct && !sc_stream_is_constant(&o->stream)) cost += SC_COST_CONVERT;
    }
    sc_parallel_rows(f.out->numel, cost, run_part, &f);
    return SC_OK;
}

// --- Bytes ---------------------------------------------------------------------------------------

uint8_t sc_xnn_byte_of(const sc_grid *grid, float number) {
    const float low = grid->is_unsigned ? 0 : INT8_MIN;
    const float byte = number * (1.0f / grid->scale) + (float)grid->zero;
    return (uint8_t)(int)nearbyintf(fminf(fmaxf(byte, low), low + 255));
}

void sc_xnn_byte_range(const sc_xnn_step *s, const sc_xnn_operand *out, int *low, int *high) {
    const sc_grid grid = sc_xnn_grid(out);
    const float bounds[2] = {s->node->has_range ? s->node->low : -INFINITY,
                             s->node->has_range ? s->node->high : INFINITY};
    uint8_t bytes[2];
    sc_bytes_of_floats(&grid, bounds, 2, bytes);
    *low = grid.is_unsigned ? bytes[0] : (int8_t)bytes[0];
    *high = grid.is_unsigned ? bytes[1] : (int8_t)bytes[1];
}

// All possible results.
static void fill_lookup(sc_xnn_step *s) {
    const sc_grid from = sc_xnn_grid(s->in[0]), to = sc_xnn_grid(s->out[0]);
    const sc_pw_params params = params_of(s->node);
    uint8_t bytes[256];
    float numbers[256];
    const void *in[3] = {numbers};
    for (int i = 0; i < 256; i++) bytes[i] = (uint8_t)i;
    if (s->node->kind == SC_XNN_CLAMP) {
        int low, high;
        sc_xnn_byte_range(s, s->out[0], &low, &high);
        if (from.scale != to.scale || from.zero != to.zero) {
            sc_floats_of_bytes(&from, bytes, 256, numbers);
            for (int i = 0; i < 256; i++) bytes[i] = sc_xnn_byte_of(&to, numbers[i]);
        }
        sc_bytes_clamp(to.is_unsigned, low, high, bytes, 256, s->lookup);
        return;
    }
    sc_floats_of_bytes(&from, bytes, 256, numbers);
    compute(s->node, &params, numbers, in, 256);
    sc_bytes_of_floats(&to, numbers, 256, s->lookup);
}

static void look_up(void *work, int64_t from, int64_t to, uint32_t thread) {
    const sc_xnn_step *s = work;
    const uint8_t *x = s->in[0]->tensor.data;
    uint8_t *y = s->out[0]->tensor.data;
    (void)thread;
    for (int64_t i = from; i < to; i++) y[i] = s->lookup[x[i]];
}

static void describe_bytes(sc_xnn_step *s) {
    sc_bytes_op op = s->node->kind == SC_XNN_ADD        ? SC_BYTES_ADD
                     : s->node->kind == SC_XNN_SUBTRACT ? SC_BYTES_SUBTRACT
                                                        : SC_BYTES_MULTIPLY;
    s->bytes = (sc_bytes_binary){.op = op,
                                 .a = sc_xnn_grid(s->in[0]),
                                 .b = sc_xnn_grid(s->in[1]),
                                 .out = sc_xnn_grid(s->out[0])};
    sc_xnn_byte_range(s, s->out[0], &s->bytes.low, &s->bytes.high);
}

typedef struct byte_pairs {
    const sc_xnn_step *step;
    sc_stream streams[OPERANDS_MAX];
} byte_pairs;

// Runs of elements in which each operand is dense or one value.
static void run_pairs(void *work, int64_t from, int64_t to, uint32_t thread) {
    const byte_pairs *p = work;
    sc_stream first = p->streams[0], second = p->streams[1];
    (void)thread;
    sc_stream_seek(&first, from);
    sc_stream_seek(&second, from);
    for (int64_t at = from; at < to;) {
        char *a, *b;
        int64_t a_step, b_step;
        sc_stream peek = first;
        int64_t n = sc_stream_run(&peek, to - at, &a, &a_step);
        n = sc_stream_run(&second, n, &b, &b_step);
        n = sc_stream_run(&first, n, &a, &a_step);
        // Rows of one element may have any step.
        if (n == 1) a_step = b_step = 0;
        sc_bytes_run_binary(&p->step->bytes, a, (size_t)a_step, b, (size_t)b_step, (size_t)n,
                            (char *)p->step->out[0]->tensor.data + at);
        at += n;
    }
}

static sc_status run_bytes(sc_xnn_delegate *d, sc_xnn_step *s) {
    const sc_tensor *out = &s->out[0]->tensor;
    byte_pairs p = {.step = s};
    for (uint32_t i = 0; i < OPERANDS_MAX; i++)
        SC_TRY(sc_stream_open(d->ctx, &p.streams[i], &s->in[i]->tensor, out));
    sc_parallel_rows(out->numel, 2 * SC_COST_SUM, run_pairs, &p);
    return SC_OK;
}

// --- The runner ----------------------------------------------------------------------------------

static sc_status load_elements(sc_xnn_delegate *d, sc_xnn_step *s) {
    const bool is_byte = sc_xnn_is_byte(s->out[0]);
    bool is_known = is_byte || sc_xnn_is(s->out[0], SC_XNN_FP32) || sc_xnn_is_half(s->out[0]);
    if (!is_known) return sc_xnn_not_executed(d, s);
    if (is_byte && s->in[1])
        describe_bytes(s);
    else if (is_byte)
        fill_lookup(s);
    return SC_OK;
}

static sc_status run_elements(sc_xnn_delegate *d, sc_xnn_step *s) {
    if (!sc_xnn_is_byte(s->out[0])) return run_floats(d, s);
    if (s->in[1]) return run_bytes(d, s);
    sc_parallel_rows(s->out[0]->tensor.numel, SC_COST_SUM, look_up, s);
    return SC_OK;
}

const sc_xnn_runner sc_xnn_run_elements = {
    .load = load_elements, .run = run_elements, .overwrites = true};
