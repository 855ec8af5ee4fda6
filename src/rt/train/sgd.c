// Stochastic gradient descent, step by step as ExecuTorch's optimizer calls its kernels: each call
// rounds to the parameter's dtype, and numbers round to the type that the kernel computes in.
// In wasm: -O3
#include "kernels/convert.h"
#include "rt/allocate.h"
#include "rt/run/tensor.h"
#include "rt/train.h"

enum { BLOCK = 256 };

struct sc_rt_sgd {
    sc_rt_trainer *trainer;
    sc_rt_sgd_options options;
    uint8_t *memory;     // of momentum, work and parameter
    uint8_t **momentum;  // by parameter; NULL without momentum
    uint8_t *work;       // the gradient as it is changed on its way
    uint8_t *dense;      // a parameter of another layout, row-major
    bool has_momentum;   // a step has been made
};

// --- Kernels -------------------------------------------------------------------------------------

static void add_f32(float *out, const float *a, const float *b, float alpha, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = a[i] + alpha * b[i];
}
static void add_f64(double *out, const double *a, const double *b, double alpha, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = a[i] + alpha * b[i];
}
static void scale_f32(float *out, float alpha, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] *= alpha;
}
static void scale_f64(double *out, double alpha, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] *= alpha;
}

typedef union block {
    float f32[BLOCK];
    double f64[BLOCK];
} block;

// out = a + alpha * b over dense elements of one dtype; `b` may be NULL for out = alpha * a.
static void combine(unsigned dtype, void *out, const void *a, const void *b, double alpha,
                    int64_t n) {
    const sc_class class_ = sc_class_of(dtype);
    const size_t item = sc_dtype_bytes((sc_dtype)dtype);
    const sc_load_fn load = sc_loader(class_, dtype);
    const sc_store_fn store = sc_storer(class_, dtype);
    block x, y;
    for (int64_t at = 0; at < n; at += BLOCK) {
        const int64_t count = n - at < BLOCK ? n - at : BLOCK;
        const size_t offset = (size_t)at * item;
        load(&x, (const uint8_t *)a + offset, 1, count);
        if (b) load(&y, (const uint8_t *)b + offset, 1, count);
        if (class_ == SC_CLASS_F32 && b)
            add_f32(x.f32, x.f32, y.f32, (float)alpha, count);
        else if (class_ == SC_CLASS_F32)
            scale_f32(x.f32, (float)alpha, count);
        else if (b)
            add_f64(x.f64, x.f64, y.f64, alpha, count);
        else
            scale_f64(x.f64, alpha, count);
        store((uint8_t *)out + offset, 1, &x, count);
    }
}

// --- A step --------------------------------------------------------------------------------------

// The momentum after this step, from the gradient in `work`.
static void update_momentum(const sc_rt_sgd *sgd, const sc_tensor *p, uint8_t *momentum) {
    const sc_rt_sgd_options *o = &sgd->options;
    if (!sgd->has_momentum) {
        memcpy(momentum, sgd->work, (size_t)sc_rt_tensor_bytes(p));
        return;
    }
    combine(p->dtype, momentum, momentum, NULL, o->momentum, p->numel);
    combine(p->dtype, momentum, momentum, sgd->work, 1 - o->dampening, p->numel);
}

static void step_dense(const sc_rt_sgd *sgd, const sc_tensor *p, uint32_t index, uint8_t *data) {
    const sc_rt_sgd_options *o = &sgd->options;
    const uint8_t *direction = sgd->work;
    memcpy(sgd->work, sc_rt_trainer_gradient(sgd->trainer, index), (size_t)sc_rt_tensor_bytes(p));
    if (o->weight_decay != 0)
        combine(p->dtype, sgd->work, sgd->work, data, o->weight_decay, p->numel);
    if (sgd->momentum) {
        update_momentum(sgd, p, sgd->momentum[index]);
        if (o->nesterov)
            combine(p->dtype, sgd->work, sgd->work, sgd->momentum[index], o->momentum, p->numel);
        else
            direction = sgd->momentum[index];
    }
    combine(p->dtype, data, data, direction, -o->lr, p->numel);
}

static void step_parameter(const sc_rt_sgd *sgd, uint32_t index) {
    sc_tensor p = *sc_rt_trainer_parameter(sgd->trainer, index);
    if (p.numel == 0) return;
    if (sc_tensor_is_contiguous(&p)) {
        step_dense(sgd, &p, index, p.data);
        return;
    }
    sc_rt_tensor_read(&p, sgd->dense, (size_t)sc_rt_tensor_bytes(&p));
    step_dense(sgd, &p, index, sgd->dense);
    sc_rt_tensor_write(&p, p.data, sgd->dense);
}

sc_status sc_rt_sgd_step(sc_ctx *ctx, sc_rt_sgd *sgd) {
    const uint32_t count = sc_rt_trainer_count(sgd->trainer);
    if (!sc_rt_trainer_gradient(sgd->trainer, 0))
        return sc_fail(ctx, SC_ERR_STATE, "Call forwardBackward() first.",
                       "there are no gradients yet");
    for (uint32_t i = 0; i < count; i++) step_parameter(sgd, i);
    sgd->has_momentum = true;
    return SC_OK;
}

// --- Its memory ----------------------------------------------------------------------------------

static uint64_t bytes_of(const sc_rt_sgd *sgd, uint32_t index) {
    return sc_align_up(sc_rt_tensor_bytes(sc_rt_trainer_parameter(sgd->trainer, index)), 16);
}

// Bytes of one parameter were added up before, when the gradients got their memory.
static sc_status allocate(sc_ctx *ctx, sc_rt_sgd *sgd) {
    const uint32_t count = sc_rt_trainer_count(sgd->trainer);
    uint64_t largest = 1, total = 0;
    for (uint32_t i = 0; i < count; i++) {
        largest = sc_max_u64(largest, bytes_of(sgd, i));
        if (sgd->options.momentum != 0) total += bytes_of(sgd, i);
    }
    largest = sc_align_up(largest, 16);
    SC_TRY(sc_rt_allocate(ctx, total + 2 * largest, "the optimizer", &sgd->memory));
    sgd->work = sgd->memory;
    sgd->dense = sgd->work + largest;
    if (sgd->options.momentum == 0) return SC_OK;
    uint8_t *at = sgd->dense + largest;
    sgd->momentum = sc_try_alloc((uint64_t)count * sizeof(*sgd->momentum));
    if (!sgd->momentum)
        return sc_rt_no_block(ctx, "the optimizer", (uint64_t)count * sizeof(*sgd->momentum));
    for (uint32_t i = 0; i < count; i++) {
        sgd->momentum[i] = at;
        at += bytes_of(sgd, i);
    }
    return SC_OK;
}

sc_status sc_rt_sgd_open(sc_ctx *ctx, sc_rt_trainer *trainer, const sc_rt_sgd_options *options,
                         sc_rt_sgd **out) {
    sc_rt_sgd *sgd = sc_try_alloc(sizeof(*sgd));
    if (!sgd) return sc_rt_no_block(ctx, "the optimizer", sizeof(*sgd));
    *sgd = (sc_rt_sgd){.trainer = trainer, .options = *options};
    const sc_status status = allocate(ctx, sgd);
    if (status == SC_OK)
        *out = sgd;
    else
        sc_rt_sgd_close(sgd);
    return status;
}

void sc_rt_sgd_close(sc_rt_sgd *sgd) {
    sc_free(sgd->momentum);
    sc_free(sgd->memory);
    sc_free(sgd);
}
