// Ops that make tensors from numbers: full and similar ops, arange, random numbers. Random kernels
// are counter based. Element i of a call depends on the call's seed and i alone, so a seed
// reproduces a run on every machine.
#include <math.h>

#include "base/parallel.h"
#include "compute/math_f32.h"
#include "kernels/move.h"

// --- Constants -----------------------------------------------------------------------------------

// PyTorch refuses numbers that an integer dtype cannot hold; negatives wrap into unsigned ones.
static bool fits_dtype(const sc_evalue *number, unsigned dtype) {
    if (!sc_dtype_is_integral((sc_dtype)dtype, false)) return true;
    double low = (double)sc_dtype_low((sc_dtype)dtype);
    double beyond = (double)sc_dtype_high((sc_dtype)dtype) + 1.0;
    if (number->tag == SC_EVALUE_DOUBLE) return number->d >= low && number->d < beyond;
    if (sc_dtype_bytes((sc_dtype)dtype) == 8 || number->tag != SC_EVALUE_INT) return true;
    return number->i < (int64_t)beyond && number->i >= -(int64_t)beyond;
}

static sc_status fill_number(const sc_kernel_call *call) {
    const uint32_t argument = (uint32_t)call->kernel->param;
    const sc_tensor *out = sc_call_out(call);
    const sc_evalue *number = call->args[argument];
    char element[16];
    sc_strided dst;
    if (!fits_dtype(number, out->dtype))
        return sc_call_fail_hint(call, SC_ERR_ARGUMENT, "Use a number in the range of the dtype.",
                                 "%g does not fit %s", sc_call_number(call, argument),
                                 sc_dtype_name((sc_dtype)out->dtype));
    sc_call_element(call, argument, out->dtype, element);
    sc_strided_of(&dst, out);
    sc_fill(&dst, element);
    return SC_OK;
}

static sc_status fill_integer(const sc_kernel_call *call) {
    const int64_t value = (int64_t)call->kernel->param;
    const sc_tensor *out = sc_call_out(call);
    char element[16] = {0};
    sc_strided dst;
    sc_put_number(element, out->dtype, 0, value, false);
    sc_strided_of(&dst, out);
    sc_fill(&dst, element);
    return SC_OK;
}

static sc_status run_fill_tensor(const sc_kernel_call *call) {
    const sc_tensor *value = sc_call_tensor(call, 1);
    sc_strided dst, src;
    if (value->numel != 1) return sc_call_fail(call, SC_ERR_SHAPE, "takes a tensor of one element");
    sc_strided_of(&dst, sc_call_out(call));
    src = dst;
    src.data = value->data;
    src.dtype = value->dtype;
    for (uint32_t d = 0; d < src.rank; d++) src.strides[d] = 0;
    return sc_move(call, &dst, &src);
}

// --- Ranges --------------------------------------------------------------------------------------

typedef struct range {
    const sc_tensor *out;
    sc_store_fn store;
    bool is_whole;
    double first, by;
    uint64_t first_whole, by_whole;
} range;

static void write_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    const range *r = work;
    const uint32_t width = sc_dtype_bytes((sc_dtype)r->out->dtype);
    double reals[SC_BLOCK];
    int64_t integers[SC_BLOCK];
    (void)thread;
    for (int64_t i = from; i < to; i += SC_BLOCK) {
        const int64_t n = sc_min_i64(SC_BLOCK, to - i);
        for (int64_t k = 0; k < n; k++) {
            reals[k] = r->first + (double)(i + k) * r->by;
            integers[k] = (int64_t)(r->first_whole + (uint64_t)(i + k) * r->by_whole);
        }
        r->store((char *)r->out->data + i * width, 1,
                 r->is_whole ? (void *)integers : (void *)reals, n);
    }
}

static sc_status write_range(const sc_kernel_call *call, uint32_t start, uint32_t step) {
    const sc_tensor *out = sc_call_out(call);
    bool whole = sc_dtype_is_integral((sc_dtype)out->dtype, true);
    sc_class class_ = whole ? SC_CLASS_I64 : SC_CLASS_F64;
    sc_store_fn store = sc_storer(class_, out->dtype);
    if (!store) return sc_call_no_kernel(call);
    if (out->rank != 1) return sc_call_fail(call, SC_ERR_SHAPE, "needs a vector for its result");
    range r = {.out = out,
               .store = store,
               .is_whole = whole,
               .first = start == UINT32_MAX ? 0.0 : sc_call_number(call, start),
               .by = step == UINT32_MAX ? 1.0 : sc_call_number(call, step),
               .first_whole = start == UINT32_MAX ? 0 : (uint64_t)sc_call_integer(call, start),
               .by_whole = step == UINT32_MAX ? 1 : (uint64_t)sc_call_integer(call, step)};
    sc_parallel_rows(out->numel, SC_COST_CONVERT, write_part, &r);
    return SC_OK;
}

static sc_status run_arange(const sc_kernel_call *call) {
    return write_range(call, UINT32_MAX, UINT32_MAX);
}

static sc_status run_arange_start(const sc_kernel_call *call) {
    return write_range(call, 0, call->arg_count > 3 ? 2 : UINT32_MAX);
}

// --- Random numbers ------------------------------------------------------------------------------

// SplitMix64 (Steele, Lea, Flood 2014) as a function of a counter.
static uint64_t random_bits(uint64_t seed, uint64_t counter) {
    uint64_t z = seed + (counter + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// In [0, 1), with as many bits as a float holds, so that rounding never gives 1.
static double random_unit(uint64_t seed, uint64_t counter) {
    return (double)(random_bits(seed, counter) >> 40) * 0x1p-24;
}

// Box and Muller's method, with our own log, so that every machine gives the same numbers.
static double random_normal(uint64_t seed, uint64_t counter) {
    double u = 1.0 - random_unit(seed, 2 * counter);
    double angle = random_unit(seed, 2 * counter + 1) * 6.283185307179586;
    return sqrt(-2.0 * sc_log_series(u)) * (double)sc_cos_f32((float)angle);
}

typedef double (*random_fn)(uint64_t seed, uint64_t counter);

typedef struct drawing {
    uint64_t seed;
    sc_stream to;
    sc_store_fn store;
    random_fn draw;
    double scale, shift;
    int64_t low;  // of integers
    uint64_t span;
} drawing;

static void draw_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    const drawing *d = work;
    sc_stream out = d->to;
    sc_stream_seek(&out, from);
    (void)thread;
    for (int64_t i = from; i < to; i += SC_BLOCK) {
        double block[SC_BLOCK];
        const int64_t n = sc_min_i64(SC_BLOCK, to - i);
        for (int64_t k = 0; k < n; k++)
            block[k] = d->draw(d->seed, (uint64_t)(i + k)) * d->scale + d->shift;
        sc_stream_store(&out, d->store, block, sizeof *block, n);
    }
}

static void draw_integers(void *work, int64_t from, int64_t to, uint32_t thread) {
    const drawing *d = work;
    sc_stream out = d->to;
    sc_stream_seek(&out, from);
    (void)thread;
    for (int64_t i = from; i < to; i++) {
        const uint64_t bits = random_bits(d->seed, (uint64_t)i);
        const int64_t value = (int64_t)((uint64_t)d->low + bits % d->span);
        sc_stream_store(&out, d->store, &value, sizeof value, 1);
    }
}

static sc_status write_random(const sc_kernel_call *call, random_fn draw, double scale,
                              double shift) {
    const sc_tensor *out = sc_call_out(call);
    drawing d = {.seed = call->seed, .draw = draw, .scale = scale, .shift = shift};
    d.store = sc_storer(SC_CLASS_F64, out->dtype);
    if (!d.store || !sc_dtype_is_float((sc_dtype)out->dtype)) return sc_call_no_kernel(call);
    SC_TRY(sc_stream_open(call->ctx, &d.to, out, out));
    sc_parallel_rows(out->numel, 2 * SC_COST_FUNCTION, draw_part, &d);
    return SC_OK;
}

static sc_status run_rand(const sc_kernel_call *call) {
    return write_random(call, random_unit, 1.0, 0.0);
}

static sc_status run_randn(const sc_kernel_call *call) {
    return write_random(call, random_normal, 1.0, 0.0);
}

static sc_status run_uniform(const sc_kernel_call *call) {
    double low = sc_call_number(call, 1), high = sc_call_number(call, 2);
    return write_random(call, random_unit, high - low, low);
}

static sc_status write_random_integers(const sc_kernel_call *call, int64_t low, int64_t high) {
    const sc_tensor *out = sc_call_out(call);
    drawing d = {.seed = call->seed, .low = low, .span = (uint64_t)high - (uint64_t)low};
    d.store = sc_storer(SC_CLASS_I64, out->dtype);
    if (!d.store || high <= low) return sc_call_fail(call, SC_ERR_ARGUMENT, "needs low < high");
    SC_TRY(sc_stream_open(call->ctx, &d.to, out, out));
    sc_parallel_rows(out->numel, 2 * SC_COST_FUNCTION, draw_integers, &d);
    return SC_OK;
}

static sc_status run_randint(const sc_kernel_call *call) {
    return write_random_integers(call, 0, sc_call_integer(call, 0));
}

static sc_status run_randint_low(const sc_kernel_call *call) {
    return write_random_integers(call, sc_call_integer(call, 0), sc_call_integer(call, 1));
}

// Fisher and Yates's shuffle, in place if the result contains indices already.
static sc_status run_randperm(const sc_kernel_call *call) {
    const sc_tensor *out = sc_call_out(call);
    SC_TRY(write_range(call, UINT32_MAX, UINT32_MAX));
    uint32_t width = sc_dtype_bytes((sc_dtype)out->dtype);
    char *data = out->data, held[16];
    for (int64_t i = out->numel - 1; i > 0; i--) {
        int64_t k = (int64_t)(random_bits(call->seed, (uint64_t)i) % (uint64_t)(i + 1));
        memcpy(held, data + i * width, width);
        memmove(data + i * width, data + k * width, width);
        memcpy(data + k * width, held, width);
    }
    return SC_OK;
}

typedef struct dropping {
    const sc_tensor *self, *out;
    sc_stream from, to, mask;
    uint64_t seed;
    double p;
    bool trains;
} dropping;

static void drop_part(void *work, int64_t first, int64_t end, uint32_t thread) {
    const dropping *d = work;
    sc_stream from = d->from, to = d->to, mask = d->mask;
    sc_stream_seek(&from, first);
    sc_stream_seek(&to, first);
    sc_stream_seek(&mask, first);
    const double scale = d->p < 1.0 ? 1.0 / (1.0 - d->p) : 0.0;
    (void)thread;
    for (int64_t i = first; i < end; i++) {
        double x;
        const bool keeps = !d->trains || random_unit(d->seed, (uint64_t)i) >= d->p;
        const uint8_t flag = keeps;
        sc_stream_load(&from, sc_loader(SC_CLASS_F64, d->self->dtype), &x, sizeof x, 1);
        x = d->trains ? x * keeps * scale : x;  // NaN stays, as in PyTorch
        sc_stream_store(&to, sc_storer(SC_CLASS_F64, d->out->dtype), &x, sizeof x, 1);
        sc_stream_store(&mask, sc_storer(SC_CLASS_B8, SC_DTYPE_BOOL), &flag, 1, 1);
    }
}

// Out 0 is the scaled input where the mask keeps it, and out 1 is the mask.
static sc_status run_dropout(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *out = sc_call_tensor(call, 3);
    const sc_tensor *kept = sc_call_tensor(call, 4);
    double p = sc_call_number(call, 1);
    bool trains = sc_call_is_none(call, 2) || sc_call_integer(call, 2) != 0;
    if (!sc_dtype_is_float((sc_dtype)self->dtype) || out->dtype != self->dtype ||
        kept->dtype != SC_DTYPE_BOOL)
        return sc_call_no_kernel(call);
    if (!sc_same_sizes(self, out) || !sc_same_sizes(self, kept))
        return sc_call_fail(call, SC_ERR_SHAPE, "needs a result of its input's sizes");
    if (!(p >= 0.0 && p <= 1.0))
        return sc_call_fail(call, SC_ERR_ARGUMENT, "the probability is not in [0, 1]");
    dropping d = {.self = self, .out = out, .seed = call->seed, .p = p, .trains = trains};
    SC_TRY(sc_stream_open(call->ctx, &d.from, self, out));
    SC_TRY(sc_stream_open(call->ctx, &d.to, out, out));
    SC_TRY(sc_stream_open(call->ctx, &d.mask, kept, out));
    sc_parallel_rows(out->numel, 4 * SC_COST_FUNCTION, drop_part, &d);
    return SC_OK;
}

SC_KERNEL(full, .run = fill_number, .param = 1);
SC_KERNEL(scalar_tensor, .run = fill_number, .param = 0);
SC_KERNEL(zeros, .run = fill_integer, .param = 0);
SC_KERNEL(ones, .run = fill_integer, .param = 1);
SC_KERNEL(fill_tensor, .run = run_fill_tensor);
SC_KERNEL(arange, .run = run_arange);
SC_KERNEL(arange_start, .run = run_arange_start);
SC_KERNEL(rand, .run = run_rand);
SC_KERNEL(randn, .run = run_randn);
SC_KERNEL(uniform, .run = run_uniform);
SC_KERNEL(randint, .run = run_randint);
SC_KERNEL(randint_low, .run = run_randint_low);
SC_KERNEL(randperm, .run = run_randperm);
SC_KERNEL(dropout, .run = run_dropout);
