// Complex numbers: conjugates, polar form.
#include <math.h>

#include "kernels/iter.h"

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

SC_KERNEL(conj, .run = run_conj);
SC_KERNEL(polar, .run = run_polar);
