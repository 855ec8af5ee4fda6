// The definition of matrix products, in the order of the formula, on any strides and type. The
// other rows are tested against it, and it runs if no other row fits.
#include "compute/elements.h"
#include "compute/matmul.h"

#define FINISH(mm, v, column) sc_finish_float(&(mm)->record.finish, v, column)
#define T                     float
#define A                     float
#define FN(name)              name##_F32
#define ALPHA                 alpha
#define BETA                  beta
#include "compute/matmul_reference.inc"
#undef FINISH

#define FINISH(mm, v, column) (v)
#define T                     double
#define A                     double
#define FN(name)              name##_F64
#include "compute/matmul_reference.inc"
#undef ALPHA
#undef BETA

#define ALPHA    alpha_int
#define BETA     beta_int
#define TEMPLATE "compute/matmul_reference.inc"
#include "compute/for_integers.inc"

// --- Quantized operands --------------------------------------------------------------------------

// The quantization of one row of the input.
typedef struct row_quant {
    int32_t zero;
    float scale;
} row_quant;

static row_quant quant_of(const sc_matmul *mm, int64_t batch, int64_t i) {
    const sc_input_quant *quant = &mm->record.quant;
    const int64_t row = (batch * mm->m + i) * quant->step;
    return (row_quant){quant->zero ? quant->zero[row] : 0, quant->scale ? quant->scale[row] : 1};
}

// Sums steps [from, to), whose operands begin at elements `a` and `b`. Sums of 32 bits wrap, as in
// the hardware.
static uint32_t quantized_sum(const sc_matmul *mm, int64_t a, int64_t b, int32_t zero, int64_t from,
                              int64_t to) {
    const sc_record *r = &mm->record;
    uint32_t sum = 0;
    for (int64_t k = from; k < to; k++)
        sum += ((uint32_t)sc_input_int(r, mm->a.data, a + k * mm->a.column) - (uint32_t)zero) *
               (uint32_t)sc_weight_int(r, mm->b.data, b + k * mm->b.row);
    return sum;
}

static void run_row_quantized(const sc_matmul *mm, int64_t batch, int64_t i) {
    const row_quant q = quant_of(mm, batch, i);
    const int64_t a = batch * mm->a.batch + i * mm->a.row, b = batch * mm->b.batch;
    const int64_t to = batch * mm->c_batch + i * mm->c_row;
    const int32_t *bias = mm->addend.data;
    if (bias) bias += batch * mm->addend.batch;
    for (int64_t j = 0; j < mm->n; j++) {
        uint32_t sum = quantized_sum(mm, a, b + j * mm->b.column, q.zero, 0, mm->k);
        if (bias) sum += (uint32_t)bias[j];
        sc_store_quantized(&mm->record, mm->c, to + j * mm->c_column, sum, q.scale, j);
    }
}

static void run_row_blocks(const sc_matmul *mm, int64_t batch, int64_t i) {
    const sc_weight_quant *weights = &mm->record.weights;
    const row_quant q = quant_of(mm, batch, i);
    const int64_t a = batch * mm->a.batch + i * mm->a.row, b = batch * mm->b.batch;
    float *c = (float *)mm->c + batch * mm->c_batch + i * mm->c_row;
    const uint16_t *scale = weights->scales;
    for (int64_t j = 0; j < mm->n; j++) {
        float sum = 0;
        for (int64_t k = 0; k < mm->k; k += weights->block)
            sum += (float)(int32_t)quantized_sum(mm, a, b + j * mm->b.column, q.zero, k,
                                                 k + weights->block) *
                   sc_bf16_to_f32(*scale++);
        c[j * mm->c_column] = sc_finish_float(&mm->record.finish, sum * q.scale, j);
    }
}

// Sums steps [from, to) of floats with weights of another type.
static float mixed_sum(const sc_matmul *mm, const float *a, int64_t b, int64_t from, int64_t to) {
    float sum = 0;
    for (int64_t k = from; k < to; k++)
        sum += a[k * mm->a.column] * sc_weight_float(&mm->record, mm->b.data, b + k * mm->b.row);
    return sum;
}

// Multiplies floats with weights of another type.
static void run_row_mixed(const sc_matmul *mm, int64_t batch, int64_t i) {
    const float *a = (const float *)mm->a.data + batch * mm->a.batch + i * mm->a.row;
    float *c = (float *)mm->c + batch * mm->c_batch + i * mm->c_row;
    const float *bias = mm->addend.data, *scale = mm->record.weights.float_scales;
    const int64_t block = scale ? mm->record.weights.block : sc_max_i64(mm->k, 1);
    if (bias) bias += batch * mm->addend.batch;
    for (int64_t j = 0; j < mm->n; j++) {
        const int64_t b = batch * mm->b.batch + j * mm->b.column;
        float sum = 0;
        for (int64_t k = 0; k < mm->k; k += block)
            sum += mixed_sum(mm, a, b, k, k + block) * (scale ? *scale++ : 1);
        if (bias) sum += bias[j];
        c[j * mm->c_column] = sc_finish_float(&mm->record.finish, sum, j);
    }
}

// --- The row -------------------------------------------------------------------------------------

typedef void (*row_fn)(const sc_matmul *mm, int64_t batch, int64_t i);

static bool is_mixed(const sc_record *r) {
    return r->in == SC_DTYPE_F32 && r->out == SC_DTYPE_F32 &&
           (r->weight == SC_DTYPE_F16 || r->weight == SC_DTYPE_BF16 || r->weight == SC_DTYPE_I8 ||
            r->weight == SC_DTYPE_I4);
}

static row_fn row_for(const sc_record *r) {
    if (sc_record_is_quantized(r)) return r->weights.scales ? run_row_blocks : run_row_quantized;
    if (is_mixed(r)) return run_row_mixed;
    switch (r->in) {
#define ROW(id) \
    case SC_DTYPE_##id: return run_row_##id;
        SC_INTEGERS(ROW)
        ROW(F32)
        ROW(F64)
#undef ROW
    default: return NULL;
    }
}

static bool blocks_fit(const sc_matmul *mm) {
    const sc_weight_quant *weights = &mm->record.weights;
    return mm->record.out == SC_DTYPE_F32 && !mm->addend.data && weights->block > 0 &&
           weights->block % 32 == 0 && mm->k % weights->block == 0;
}

static bool fits(const sc_record *r) {
    const sc_matmul *mm = sc_matmul_of(r);
    if (sc_record_is_quantized(r))
        return sc_types_are_quantized(r) && sc_matmul_is_plain(mm) &&
               (!mm->addend.data || r->bias == SC_DTYPE_I32) &&
               (!r->weights.scales || blocks_fit(mm));
    if (r->weights.scales || (mm->addend.data && r->bias != r->in)) return false;
    if (is_mixed(r)) return sc_matmul_is_plain(mm) && sc_matmul_blocks_fit(r);
    return r->weight == r->in && r->out == r->in && row_for(r) &&
           (r->in == SC_DTYPE_F32 || sc_finish_is_plain(&r->finish));
}

static int64_t tiles(const sc_record *record) {
    return sc_matmul_of(record)->batch * sc_matmul_of(record)->m;
}

static void run(const sc_record *record, const void *packed, int64_t from, int64_t to,
                void *scratch) {
    const sc_matmul *mm = sc_matmul_of(record);
    const row_fn run_row = row_for(record);
    (void)packed;
    (void)scratch;
    for (int64_t tile = from; tile < to; tile++) run_row(mm, tile / mm->m, tile % mm->m);
}

SC_ALGORITHM(matmul_reference, .fits = fits, .tiles = tiles, .run = run);
