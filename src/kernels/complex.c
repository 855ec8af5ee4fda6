// Complex numbers: conjugates, polar form, and what files of other exporters call of them.
#include "kernels/complex.h"

#include <math.h>

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

static bool is_pair(const sc_tensor *t) { return sc_dtype_is_complex((sc_dtype)t->dtype); }

static complex_number read_complex(const sc_tensor *t, int64_t offset) {
    double parts[2] = {0.0, 0.0};
    sc_dtype part;
    const char *at = element_of(t, offset, &part);
    sc_loader(SC_CLASS_F64, part)(parts, at, 1, is_pair(t) ? 2 : 1);
    return (complex_number){parts[0], parts[1]};
}

// Real results keep the real part.
static void write_complex(const sc_tensor *t, int64_t offset, complex_number z) {
    const double parts[2] = {z.re, z.im};
    sc_dtype part;
    char *at = element_of(t, offset, &part);
    sc_storer(SC_CLASS_F64, part)(at, 1, parts, is_pair(t) ? 2 : 1);
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

// --- Element by element --------------------------------------------------------------------------

bool sc_complex_is_given(const sc_kernel_call *call) {
    for (uint32_t i = 0; i + 1 < call->arg_count; i++) {
        const sc_tensor *t = sc_call_tensor(call, i);
        if (t && sc_dtype_is_complex((sc_dtype)t->dtype)) return true;
    }
    return false;
}

// A number of any real dtype is a complex one without an imaginary part.
static bool has_parts(const sc_tensor *t) {
    return is_pair(t) || sc_loader(SC_CLASS_F64, t->dtype) != NULL;
}

static complex_number absolute(complex_number a, complex_number b, double factor) {
    (void)b, (void)factor;
    return (complex_number){hypot(a.re, a.im), 0};
}

static complex_number sum(complex_number a, complex_number b, double factor) {
    return (complex_number){a.re + factor * b.re, a.im + factor * b.im};
}

static complex_number product(complex_number a, complex_number b, double factor) {
    (void)factor;
    return (complex_number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

typedef struct complex_form {
    const sc_pw_row *row;
    uint32_t operands;
    bool has_factor;  // the argument behind the operands
    complex_number (*of)(complex_number a, complex_number b, double factor);
} complex_form;

static const complex_form FORMS[] = {
    {&sc_pw_abs, 1, false, absolute},
    {&sc_pw_add, 2, true, sum},
    {&sc_pw_mul, 2, false, product},
};

// The offset of the next element of a stream.
static int64_t next_offset(sc_stream *s) {
    char *data;
    int64_t stride;
    (void)sc_stream_run(s, 1, &data, &stride);
    return (data - s->data) / s->item_bytes;
}

sc_status sc_complex_pointwise(const sc_kernel_call *call, const sc_pw_row *row) {
    const sc_tensor *operands[2] = {NULL, NULL}, *out = sc_call_out(call);
    const complex_form *form = NULL;
    sc_stream streams[2], to;
    for (size_t i = 0; i < SC_COUNT_OF(FORMS); i++)
        if (FORMS[i].row == row) form = &FORMS[i];
    if (!form || !has_parts(out)) return sc_call_no_kernel(call);
    SC_TRY(sc_stream_open(call->ctx, &to, out, out));
    for (uint32_t i = 0; i < form->operands; i++) {
        operands[i] = sc_call_tensor(call, i);
        if (!operands[i] || !has_parts(operands[i])) return sc_call_no_kernel(call);
        SC_TRY(sc_stream_open(call->ctx, &streams[i], operands[i], out));
    }
    const double factor = form->has_factor ? sc_call_number(call, form->operands) : 1;
    for (int64_t i = 0; i < out->numel; i++) {
        complex_number z[2] = {{0, 0}, {0, 0}};
        for (uint32_t k = 0; k < form->operands; k++)
            z[k] = read_complex(operands[k], next_offset(&streams[k]));
        write_complex(out, next_offset(&to), form->of(z[0], z[1], factor));
    }
    return SC_OK;
}

SC_KERNEL(conj, .run = run_conj);
SC_KERNEL(polar, .run = run_polar);
