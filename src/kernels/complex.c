// Complex numbers: conjugates, polar form, Fourier transforms. Transforms are mixed radix (Stockham
// over the prime factors of the length) in double, along one dim after another.
#include <math.h>

#include "kernels/move.h"
#include "kernels/reduce.h"

typedef struct complex_number {
    double re, im;
} complex_number;

static bool is_complex(const sc_tensor *t) {
    return t->dtype == SC_DTYPE_C64 || t->dtype == SC_DTYPE_C128;
}

// Element `offset`, and the type of its real part, which lies first.
static char *element_of(const sc_tensor *t, int64_t offset, sc_dtype *part) {
    *part = sc_dtype_to_real((sc_dtype)t->dtype);
    return (char *)t->data + offset * sc_dtype_bytes((sc_dtype)t->dtype);
}

static complex_number read_complex(const sc_tensor *t, int64_t offset) {
    double parts[2] = {0.0, 0.0};
    sc_dtype part;
    const char *at = element_of(t, offset, &part);
    sc_loader(SC_CLASS_F64, part)(parts, at, 1, is_complex(t) ? 2 : 1);
    return (complex_number){parts[0], parts[1]};
}

// Real results keep the real part.
static void write_complex(const sc_tensor *t, int64_t offset, complex_number z) {
    const double parts[2] = {z.re, z.im};
    sc_dtype part;
    char *at = element_of(t, offset, &part);
    sc_storer(SC_CLASS_F64, part)(at, 1, parts, is_complex(t) ? 2 : 1);
}

static bool is_real(const sc_tensor *t) {
    return t->dtype == SC_DTYPE_F32 || t->dtype == SC_DTYPE_F64;
}

static sc_status run_conj(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *out = sc_call_out(call);
    if (!is_complex(self) || out->dtype != self->dtype) return sc_call_no_kernel(call);
    if (!sc_same_layout(self, out) || !sc_tensor_is_dense(out))
        return sc_call_fail(call, SC_ERR_SHAPE, "the layouts do not agree");
    for (int64_t i = 0; i < out->numel; i++) {
        complex_number z = read_complex(self, i);
        z.im = -z.im;
        write_complex(out, i, z);
    }
    return SC_OK;
}

// (abs, angle, out)
static sc_status run_polar(const sc_kernel_call *call) {
    const sc_tensor *size = sc_call_tensor(call, 0), *angle = sc_call_tensor(call, 1);
    const sc_tensor *out = sc_call_out(call);
    if (!is_real(size) || angle->dtype != size->dtype || !is_complex(out))
        return sc_call_no_kernel(call);
    if (!sc_same_layout(size, out) || !sc_same_layout(angle, out) || !sc_tensor_is_dense(out))
        return sc_call_fail(call, SC_ERR_SHAPE, "the layouts do not agree");
    for (int64_t i = 0; i < out->numel; i++) {
        double r = read_complex(size, i).re, a = read_complex(angle, i).re;
        write_complex(out, i, (complex_number){r * cos(a), r * sin(a)});
    }
    return SC_OK;
}

// --- One line ------------------------------------------------------------------------------------

// One pass for factor `p` of `n`: `done` is the product of the factors before. Stockham's order, so
// the result needs no reordering. `roots` are the n-th roots of unity.
static void fft_pass(complex_number *to, const complex_number *from, const complex_number *roots,
                     int64_t n, int64_t p, int64_t done) {
    int64_t blocks = n / (p * done);
    for (int64_t b = 0; b < blocks; b++) {
        for (int64_t k = 0; k < done; k++) {
            for (int64_t q = 0; q < p; q++) {
                complex_number sum = {0.0, 0.0};
                for (int64_t r = 0; r < p; r++) {
                    complex_number z = from[(b + r * blocks) * done + k];
                    complex_number w = roots[r * (k + q * done) % (p * done) * blocks];
                    sum.re += z.re * w.re - z.im * w.im;
                    sum.im += z.re * w.im + z.im * w.re;
                }
                to[(b * p + q) * done + k] = sum;
            }
        }
    }
}

// Transforms `line` in place with `spare` of the same length.
static void fft_line(complex_number *line, complex_number *spare, const complex_number *roots,
                     int64_t n) {
    complex_number *from = line, *to = spare;
    int64_t left = n, done = 1;
    for (int64_t p = 2; left > 1; p++) {
        if (p * p > left) p = left;
        while (left % p == 0 && left > 1) {
            fft_pass(to, from, roots, n, p, done);
            complex_number *swap = from;
            from = to;
            to = swap;
            done *= p;
            left /= p;
        }
    }
    if (from != line) memcpy(line, from, (size_t)n * sizeof *line);
}

// --- Tensors -------------------------------------------------------------------------------------

typedef struct transform {
    const sc_tensor *in, *out;
    sc_reduction lines;  // of the longer side, along `dim`
    uint32_t dim;
    int64_t length;  // of the transform
    double scale;
    complex_number *line, *spare, *roots;
} transform;

static uint64_t fft_scratch(const sc_kernel_call *call) {
    int64_t longest = 1;
    for (uint32_t i = 0; i < 2; i++) {
        const sc_tensor *t = i ? sc_call_out(call) : sc_call_tensor(call, 0);
        for (uint32_t d = 0; d < t->rank; d++) longest = sc_max_i64(longest, t->sizes[d]);
    }
    return 3 * (uint64_t)longest * sizeof(complex_number);
}

static void transform_line(void *user, sc_stream *elements, int64_t out_offset) {
    const transform *t = user;
    int64_t in_size = t->in->sizes[t->dim], out_size = t->out->sizes[t->dim];
    int64_t in_offset = (elements->data - (char *)t->in->data) / elements->item_bytes;
    for (int64_t i = 0; i < t->length; i++) {
        // What a shorter, one-sided input leaves out is the mirror of the rest.
        bool mirrored = i >= in_size;
        int64_t k = mirrored ? t->length - i : i;
        complex_number z = {0.0, 0.0};
        if (k < in_size) z = read_complex(t->in, in_offset + k * t->in->strides[t->dim]);
        z.im = mirrored ? -z.im : z.im;
        t->line[i] = z;
    }
    fft_line(t->line, t->spare, t->roots, t->length);
    for (int64_t i = 0; i < out_size && i < t->length; i++) {
        complex_number z = t->line[i];
        z.re *= t->scale;
        z.im *= t->scale;
        write_complex(t->out, out_offset + i * t->out->strides[t->dim], z);
    }
}

static double scale_of(int64_t normalization, int64_t length) {
    return normalization == 1   ? 1.0 / sqrt((double)length)
           : normalization == 2 ? 1.0 / (double)length
                                : 1.0;
}

static sc_status nothing_to_transform(const sc_kernel_call *call) {
    return sc_call_fail(call, SC_ERR_SHAPE, "nothing to transform");
}

static sc_status transform_dim(const sc_kernel_call *call, const sc_tensor *in,
                               const sc_tensor *out, uint32_t dim, int64_t length, double sign,
                               int64_t normalization) {
    transform t = {.in = in, .out = out, .dim = dim, .length = length};
    if (length <= 0 || call->scratch_bytes < 3 * (uint64_t)length * sizeof *t.line)
        return nothing_to_transform(call);
    t.scale = scale_of(normalization, length);
    t.line = call->scratch;
    t.spare = t.line + length;
    t.roots = t.spare + length;
    for (int64_t i = 0; i < length; i++) {
        double angle = sign * 6.283185307179586 * (double)i / (double)length;
        t.roots[i] = (complex_number){cos(angle), sin(angle)};
    }
    SC_TRY(sc_reduction_init_along(call->ctx, &t.lines, in, out, dim));
    sc_reduction_each(&t.lines, transform_line, &t);
    return SC_OK;
}

// (self, dim, normalization, onesided, out): the last listed dim first, the others on the result.
static sc_status run_r2c(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *out = sc_call_out(call);
    int64_t dims[SC_RANK_MAX], normalization = sc_call_integer(call, 2);
    uint32_t count = sc_call_ints(call, 1, dims, SC_RANK_MAX, 0);
    if (!is_real(self) || !is_complex(out)) return sc_call_no_kernel(call);
    if (count == 0 || self->rank == 0) return nothing_to_transform(call);
    uint32_t last = sc_wrap_dim(dims[count - 1], self->rank);
    SC_TRY(transform_dim(call, self, out, last, self->sizes[last], -1.0, normalization));
    for (uint32_t i = 0; i + 1 < count; i++) {
        uint32_t d = sc_wrap_dim(dims[i], out->rank);
        SC_TRY(transform_dim(call, out, out, d, out->sizes[d], -1.0, normalization));
    }
    return SC_OK;
}

// (self, dim, normalization, forward, out): over no dims, the numbers as they are.
static sc_status run_c2c(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *out = sc_call_out(call);
    int64_t dims[SC_RANK_MAX], normalization = sc_call_integer(call, 2);
    double sign = sc_call_integer(call, 3) != 0 ? -1.0 : 1.0;
    uint32_t count = sc_call_ints(call, 1, dims, SC_RANK_MAX, 0);
    if (!is_complex(self) || out->dtype != self->dtype) return sc_call_no_kernel(call);
    if (count == 0) {
        sc_strided dst, src;
        sc_strided_of(&dst, out);
        sc_strided_of(&src, self);
        return sc_move(call, &dst, &src);
    }
    if (self->rank == 0) return nothing_to_transform(call);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t d = sc_wrap_dim(dims[i], out->rank);
        SC_TRY(transform_dim(call, i ? out : self, out, d, out->sizes[d], sign, normalization));
    }
    return SC_OK;
}

// (self, dim, normalization, last_dim_size, out): one dim; more need room for the complex middle.
static sc_status run_c2r(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *out = sc_call_out(call);
    int64_t dims[SC_RANK_MAX], normalization = sc_call_integer(call, 2);
    uint32_t count = sc_call_ints(call, 1, dims, SC_RANK_MAX, 0);
    if (!is_complex(self) || !is_real(out)) return sc_call_no_kernel(call);
    if (count == 0 || self->rank == 0) return nothing_to_transform(call);
    if (count > 1)
        return sc_call_fail_hint(call, SC_ERR_UNSUPPORTED,
                                 "Transform the other dims with ifft first.",
                                 "the real inverse transform takes one dim");
    uint32_t d = sc_wrap_dim(dims[0], self->rank);
    return transform_dim(call, self, out, d, out->sizes[d], 1.0, normalization);
}

SC_KERNEL(conj, .run = run_conj);
SC_KERNEL(polar, .run = run_polar);
SC_KERNEL(fft_r2c, .run = run_r2c, .scratch = fft_scratch);
SC_KERNEL(fft_c2c, .run = run_c2c, .scratch = fft_scratch);
SC_KERNEL(fft_c2r, .run = run_c2r, .scratch = fft_scratch);
