// Matrix products with packed columns, of floats and of quantized 8-bit integers. The rows of `a`
// are used in place. Those of 8 bits are copied a few at a time: widened without their zero points,
// or as bytes for dot products. The packing does not depend on zero points.
#include <math.h>

#include "compute/matmul.h"
#include "compute/pack.h"
#include "compute/simd/dot_i8.h"
#include "compute/simd/gemm_dot_i8.h"
#include "compute/simd/igemm_f32.h"

enum { ROWS = 64, COLUMNS = 8 * SC_PANEL };  // of a tile

// --- Shape ---------------------------------------------------------------------------------------

static bool fits(const sc_record *record, uint8_t bias) {
    const sc_matmul *mm = sc_matmul_of(record);
    return (mm->a.column == 1 || mm->k == 1) && (mm->c_column == 1 || mm->n == 1) &&
           (mm->b.batch == 0 || mm->batch == 1) && sc_matmul_is_plain(mm) &&
           (!mm->addend.data ||
            (record->bias == bias && (mm->addend.batch == 0 || mm->batch == 1)));
}

static sc_pack_source source_of(const sc_matmul *mm) {
    return (sc_pack_source){.weight = mm->b.data,
                            .columns = (size_t)mm->n,
                            .column_step = mm->b.column,
                            .sizes = {1, 1, 1, mm->k},
                            .steps = {0, 0, 0, mm->b.row},
                            .bias = mm->addend.data,
                            .finish = &mm->record.finish,
                            .type = mm->record.weight,
                            .high_first = mm->record.weights.high_first};
}

static int64_t tiles(const sc_record *record) {
    const sc_matmul *mm = sc_matmul_of(record);
    return mm->batch * sc_blocks_of(mm->m, ROWS) * sc_blocks_of(mm->n, COLUMNS);
}

// Rows [row, row + count) of a batch item and columns [first, last) of its result.
typedef struct block {
    int64_t batch, row, count;
    size_t first, last;
} block;

// The next tiles of [from, to) with the same rows; `from` advances.
static block next_block(const sc_matmul *mm, int64_t *from, int64_t to) {
    const int64_t rows = sc_blocks_of(mm->m, ROWS), columns = sc_blocks_of(mm->n, COLUMNS);
    const int64_t strip = *from / columns, end = sc_min_i64(to, (strip + 1) * columns);
    const int64_t row = strip % rows * ROWS;
    const block b = {.batch = strip / rows,
                     .row = row,
                     .count = sc_min_i64(ROWS, mm->m - row),
                     .first = (size_t)((*from - strip * columns) * COLUMNS),
                     .last = (size_t)sc_min_i64((end - strip * columns) * COLUMNS, mm->n)};
    *from = end;
    return b;
}

static int64_t place_of(const sc_matmul *mm, const block *b) {
    return b->batch * mm->c_batch + b->row * mm->c_row;
}

// --- Floats --------------------------------------------------------------------------------------

// Weights with more numbers than this are used in place if they stay in memory: packed ones, which
// are a tenth faster, would be a second copy.
#define PACKED_MAX ((int64_t)1 << 18)

static bool fits_f32(const sc_record *record) {
    const sc_matmul *mm = sc_matmul_of(record);
    const bool is_small = mm->n == 0 || mm->k <= PACKED_MAX / mm->n;
    return (is_small || record->drops_weights) && fits(record, SC_DTYPE_F32);
}

// Steps that share a scale; 0: all of them.
static uint64_t block_f32(const sc_record *record) {
    return record->weights.float_scales ? (uint64_t)record->weights.block : 0;
}

static uint64_t pack_bytes_f32(const sc_record *record) {
    const sc_matmul *mm = sc_matmul_of(record);
    return sc_pack_columns_f32_bytes((uint64_t)mm->n, (uint64_t)mm->k, record->weight,
                                     block_f32(record));
}

static void pack_f32(const sc_record *record, void *packed) {
    sc_pack_source source = source_of(sc_matmul_of(record));
    source.float_scales = record->weights.float_scales;
    source.block = (size_t)block_f32(record);
    sc_pack_columns_f32(&source, packed);
}

static uint64_t scratch_bytes_f32(const sc_record *record) {
    const sc_matmul *mm = sc_matmul_of(record);
    return sc_igemm_scratch_f32((uint64_t)sc_min_i64(ROWS, mm->m), (uint64_t)mm->k, record->weight);
}

static void run_f32(const sc_record *record, const void *packed, int64_t from, int64_t to,
                    void *scratch) {
    const sc_matmul *mm = sc_matmul_of(record);
    const sc_finish *finish = &record->finish;
    const float *rows[ROWS];
    sc_igemm_f32 g = {.n = (size_t)mm->n,
                      .k = (size_t)mm->k,
                      .runs = 1,
                      .rows = rows,
                      .packed = packed,
                      .weight = mm->record.weight,
                      .block = (size_t)block_f32(record),
                      .c_row = (size_t)mm->c_row,
                      .scratch = scratch,
                      .low = finish->clamps ? finish->low : -INFINITY,
                      .high = finish->clamps ? finish->high : INFINITY};
    while (from < to) {
        const block b = next_block(mm, &from, to);
        const float *a = (const float *)mm->a.data + b.batch * mm->a.batch + b.row * mm->a.row;
        for (int64_t i = 0; i < b.count; i++) rows[i] = a + i * mm->a.row;
        g.m = (size_t)b.count;
        g.c = (float *)mm->c + place_of(mm, &b);
        sc_igemm_run_f32(&g, b.first, b.last);
    }
}

SC_ALGORITHM(matmul_packed, .fits = fits_f32, .pack_bytes = pack_bytes_f32, .pack = pack_f32,
             .scratch_bytes = scratch_bytes_f32, .tiles = tiles, .run = run_f32);

// Weights of fewer bits, which no other row accepts.
static bool fits_few_bits(const sc_record *record) {
    return !record->weights.scales && sc_matmul_blocks_fit(record) && fits(record, SC_DTYPE_F32);
}

SC_ALGORITHM(matmul_few_bits, .fits = fits_few_bits, .pack_bytes = pack_bytes_f32, .pack = pack_f32,
             .scratch_bytes = scratch_bytes_f32, .tiles = tiles, .run = run_f32);

// --- 8 bits --------------------------------------------------------------------------------------

static bool fits_i8(const sc_record *record) {
    const sc_matmul *mm = sc_matmul_of(record);
    const sc_weight_quant *weights = &record->weights;
    const bool has_blocks = weights->scales != NULL;
    return sc_record_is_quantized(record) && fits(record, SC_DTYPE_I32) &&
           (record->out == SC_DTYPE_F32 || (record->out == SC_DTYPE_I8 && !has_blocks)) &&
           (!has_blocks || (weights->block > 0 && weights->block % 32 == 0 &&
                            mm->k % weights->block == 0 && !mm->addend.data));
}

static sc_pack_source source_i8_of(const sc_matmul *mm) {
    const sc_weight_quant *weights = &mm->record.weights;
    sc_pack_source source = source_of(mm);
    source.scales = weights->scales;
    source.block = weights->scales ? (size_t)weights->block : 0;
    return source;
}

// Memory of a tile: its rows, then sums of them for dot products with weights of 4 bits.
static uint64_t rows_bytes(const sc_matmul *mm, bool dots) {
    const uint64_t m = (uint64_t)sc_min_i64(ROWS, mm->m);
    return sc_align_up(sc_gemm_rows_bytes(m, (uint64_t)mm->k, dots), sizeof(int32_t));
}

// For each row of a tile: its scale, and the number that its bytes exceed their values by.
typedef struct row_facts {
    float scales[ROWS];
    int32_t zeros[ROWS];
} row_facts;

static void put_rows(const sc_matmul *mm, const block *b, const sc_gemm_rows_i8 *rows,
                     row_facts *facts) {
    const sc_input_quant *quant = &mm->record.quant;
    const int8_t *a = (const int8_t *)mm->a.data + b->batch * mm->a.batch + b->row * mm->a.row;
    for (size_t i = 0; i < rows->m; i++, a += mm->a.row) {
        const int64_t at = (b->batch * mm->m + b->row + (int64_t)i) * quant->step;
        const int32_t zero = quant->zero ? quant->zero[at] : 0;
        sc_gemm_row_put(rows, a, zero, rows->k, sc_gemm_row_begin(rows, i));
        sc_gemm_row_end(rows, i);
        facts->scales[i] = quant->scale ? quant->scale[at] : 1;
        facts->zeros[i] = zero + rows->flip;
    }
}

static void run_tiles(const sc_matmul *mm, const void *packed, int64_t from, int64_t to,
                      uint8_t *scratch, bool dots) {
    const sc_record *record = &mm->record;
    const bool floats = record->out == SC_DTYPE_F32, nibbles = record->weight == SC_DTYPE_I4;
    row_facts facts;
    sc_gemm_rows_i8 rows = {.a = scratch,
                            .k = (size_t)mm->k,
                            .dots = dots,
                            .flip = dots && !nibbles ? sc_dot_flip() : 0};
    sc_gemm_i8 g = {.n = (size_t)mm->n,
                    .k = (size_t)mm->k,
                    .a = scratch,
                    .packed = packed,
                    .nibbles = nibbles,
                    .block = record->weights.scales ? (size_t)record->weights.block : 0,
                    .c_row = (size_t)mm->c_row,
                    .row_scale = floats ? facts.scales : NULL,
                    .finish = &record->finish,
                    .zeros = facts.zeros,
                    .same_zero = !record->quant.zero || record->quant.step == 0,
                    .row_sums = (int32_t *)(void *)(scratch + rows_bytes(mm, dots))};
    while (from < to) {
        const block b = next_block(mm, &from, to);
        g.m = rows.m = (size_t)b.count;
        g.c = (char *)mm->c + place_of(mm, &b) * (int64_t)(floats ? sizeof(float) : 1);
        put_rows(mm, &b, &rows, &facts);
        (dots ? sc_gemm_run_dot : sc_gemm_run_i8)(&g, b.first, b.last);
    }
}

static uint64_t pack_bytes_i8(const sc_record *record) {
    const sc_pack_source source = source_i8_of(sc_matmul_of(record));
    return sc_pack_columns_i8_bytes(&source);
}

static void pack_i8(const sc_record *record, void *packed) {
    const sc_pack_source source = source_i8_of(sc_matmul_of(record));
    sc_pack_columns_i8(&source, packed);
}

static uint64_t scratch_bytes_i8(const sc_record *record) {
    return rows_bytes(sc_matmul_of(record), false);
}

static void run_i8(const sc_record *record, const void *packed, int64_t from, int64_t to,
                   void *scratch) {
    run_tiles(sc_matmul_of(record), packed, from, to, scratch, false);
}

SC_ALGORITHM(matmul_i8, .fits = fits_i8, .pack_bytes = pack_bytes_i8, .pack = pack_i8,
             .scratch_bytes = scratch_bytes_i8, .tiles = tiles, .run = run_i8);

// --- Dot products --------------------------------------------------------------------------------

// Blocks of weights of 8 bits are left to the other row.
static bool fits_dot(const sc_record *record) {
    const sc_weight_quant *weights = &record->weights;
    const bool takes = !weights->scales || record->weight == SC_DTYPE_I4;
    return takes && sc_dot_is_exact() && fits_i8(record);
}

static uint64_t pack_bytes_dot(const sc_record *record) {
    const sc_pack_source source = source_i8_of(sc_matmul_of(record));
    return sc_pack_columns_dot_bytes(&source);
}

static void pack_dot(const sc_record *record, void *packed) {
    const sc_pack_source source = source_i8_of(sc_matmul_of(record));
    sc_pack_columns_dot(&source, packed);
}

static uint64_t scratch_bytes_dot(const sc_record *record) {
    const sc_matmul *mm = sc_matmul_of(record);
    const uint64_t m = (uint64_t)sc_min_i64(ROWS, mm->m);
    const uint64_t steps = record->weights.scales ? (uint64_t)record->weights.block : 0;
    const bool nibbles = record->weight == SC_DTYPE_I4;
    return rows_bytes(mm, true) + (nibbles ? sc_gemm_sums_bytes(m, (uint64_t)mm->k, steps) : 0);
}

static void run_dot(const sc_record *record, const void *packed, int64_t from, int64_t to,
                    void *scratch) {
    run_tiles(sc_matmul_of(record), packed, from, to, scratch, true);
}

SC_ALGORITHM(matmul_dot, .fits = fits_dot, .pack_bytes = pack_bytes_dot, .pack = pack_dot,
             .scratch_bytes = scratch_bytes_dot, .tiles = tiles, .run = run_dot);
