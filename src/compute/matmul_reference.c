// The definition of matrix products, in the order of the formula, on any strides and type. What the
// other rows are tested against, and what runs where none of them fits.
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

// --- 8-bit operands that stand for numbers -------------------------------------------------------

// Sums of 32 bits wrap, as those of the hardware do.
static int32_t quantized_sum(const sc_matmul *mm, const int8_t *a, const int8_t *b, int32_t zero) {
    uint32_t sum = 0;
    for (int64_t k = 0; k < mm->k; k++)
        sum += ((uint32_t)a[k * mm->a.column] - (uint32_t)zero) * (uint32_t)b[k * mm->b.row];
    return (int32_t)sum;
}

static void run_row_quantized(const sc_matmul *mm, int64_t batch, int64_t i) {
    const sc_record *r = &mm->record;
    const int64_t row = (batch * mm->m + i) * r->quant.step;
    const int32_t zero = r->quant.zero ? r->quant.zero[row] : 0;
    const float scale = r->quant.scale ? r->quant.scale[row] : 1;
    const int8_t *a = (const int8_t *)mm->a.data + batch * mm->a.batch + i * mm->a.row;
    const int8_t *b = (const int8_t *)mm->b.data + batch * mm->b.batch;
    const int32_t *bias = mm->addend.data;
    if (bias) bias += batch * mm->addend.batch;
    const int64_t to = batch * mm->c_batch + i * mm->c_row;
    for (int64_t j = 0; j < mm->n; j++) {
        int32_t sum = quantized_sum(mm, a, b + j * mm->b.column, zero);
        if (bias) sum = (int32_t)((uint32_t)sum + (uint32_t)bias[j]);
        if (r->out == SC_DTYPE_F32)
            ((float *)mm->c)[to + j * mm->c_column] =
                sc_finish_float(&r->finish, (float)sum * scale, j);
        else
            ((int8_t *)mm->c)[to + j * mm->c_column] = sc_finish_round(&r->finish, sum, j);
    }
}

// --- The row -------------------------------------------------------------------------------------

typedef void (*row_fn)(const sc_matmul *mm, int64_t batch, int64_t i);

static row_fn row_for(const sc_record *r) {
    if (sc_record_is_quantized(r)) return run_row_quantized;
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

static bool fits(const sc_record *r) {
    const sc_matmul *mm = sc_matmul_of(r);
    if (sc_record_is_quantized(r))
        return r->weight == SC_DTYPE_I8 && (r->out == SC_DTYPE_I8 || r->out == SC_DTYPE_F32) &&
               sc_matmul_is_plain(mm) && (!mm->addend.data || r->bias == SC_DTYPE_I32);
    return r->weight == r->in && r->out == r->in && (!mm->addend.data || r->bias == r->in) &&
           row_for(r) && (r->in == SC_DTYPE_F32 || sc_finish_is_plain(&r->finish));
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
