// Every row for matrix products against the definition: every mix of row-major, column-major and
// scattered operands, transposed results, biases that broadcast, factors.
#include "compute/matmul.h"
#include "compute/rows.h"
#include "harness.h"
#include "kernels/kernel.h"
#include "setup.h"

static const sc_record f32_record = {.kind = SC_RECORD_MATMUL,
                                     .in = SC_DTYPE_F32,
                                     .weight = SC_DTYPE_F32,
                                     .bias = SC_DTYPE_F32,
                                     .out = SC_DTYPE_F32};

// A batch of rows x columns in a random layout; returns how many elements it spans.
static int64_t pick_layout(sc_matrix *m, int64_t batch, int64_t rows, int64_t columns) {
    int64_t gap = 1;
    switch (rows_pick(0, 2)) {
    case 0: m->column = 1, m->row = columns; break;
    case 1: m->row = 1, m->column = rows; break;
    default: gap = 2, m->column = 2, m->row = 2 * columns; break;
    }
    m->batch = rows * columns * gap;
    return batch * m->batch;
}

static void pick_addend(sc_matmul *mm) {
    if (rows_pick(0, 2) == 0) return;
    sc_matrix *addend = &mm->addend;
    addend->data = rows_floats(pick_layout(addend, mm->batch, mm->m, mm->n));
    if (rows_pick(0, 1)) addend->row = 0, addend->column = 1, addend->batch = 0;
    if (rows_pick(0, 1)) mm->alpha = 0.5, mm->beta = -2;
}

static void pick_finish(sc_finish *finish, int64_t channels) {
    finish->clamps = rows_pick(0, 2) == 0;
    finish->low = -1;
    finish->high = 3;
    if (rows_pick(0, 2)) return;
    finish->scale = rows_floats(channels);
    finish->scale_step = rows_pick(0, 1) != 0;
    if (rows_pick(0, 1)) finish->shift = rows_floats(channels);
}

// Sizes and the layout of the results; returns how many elements those span.
static int64_t pick_shape(sc_matmul *mm) {
    mm->batch = rows_pick(1, 3);
    mm->m = rows_pick(1, rows_pick(0, 9) ? 20 : 70);
    mm->n = rows_pick(1, rows_pick(0, 9) ? 40 : 140);
    mm->k = rows_pick(0, rows_pick(0, 9) ? 12 : 40);
    mm->alpha = mm->beta = 1;
    const bool swapped = rows_pick(0, 2) == 0;
    mm->c_row = swapped ? 1 : mm->n, mm->c_column = swapped ? mm->m : 1;
    mm->c_batch = mm->m * mm->n;
    if (rows_pick(0, 9) == 0) mm->c_row *= 2, mm->c_column *= 2, mm->c_batch *= 2;
    return mm->batch * mm->c_batch;
}

static void print_matmul(const sc_matmul *mm) {
    FAIL("%d of %d x %d x %d", (int)mm->batch, (int)mm->m, (int)mm->n, (int)mm->k);
}

static void check_floats(uint32_t ran[ROWS_MAX]) {
    sc_matmul mm = {.record = f32_record};
    const size_t bytes = (size_t)pick_shape(&mm) * sizeof(float);
    mm.a.data = rows_floats(pick_layout(&mm.a, mm.batch, mm.m, mm.k));
    mm.b.data = rows_floats(pick_layout(&mm.b, mm.batch, mm.k, mm.n));
    if (rows_pick(0, 1)) mm.b.batch = 0;
    pick_addend(&mm);
    pick_finish(&mm.record.finish, mm.n);
    if (!rows_agree(&mm.record, &mm.c, bytes, ran)) print_matmul(&mm);
}

// 8-bit operands: a zero point and a scale for all rows or one each, results of 8 bits or floats.
// Scales are powers of two, so sums often lie half way between two results.
static void check_bytes(uint32_t ran[ROWS_MAX]) {
    sc_matmul mm = {.record = {.kind = SC_RECORD_MATMUL,
                               .in = SC_DTYPE_I8,
                               .weight = SC_DTYPE_I8,
                               .bias = SC_DTYPE_I32,
                               .out = rows_pick(0, 1) ? SC_DTYPE_I8 : SC_DTYPE_F32}};
    const bool floats = mm.record.out == SC_DTYPE_F32;
    const size_t bytes = (size_t)pick_shape(&mm) * (floats ? sizeof(float) : 1);
    const int64_t rows = mm.batch * mm.m;
    sc_finish *finish = &mm.record.finish;
    mm.a.data = rows_bytes(pick_layout(&mm.a, mm.batch, mm.m, mm.k));
    mm.b.data = rows_bytes(pick_layout(&mm.b, mm.batch, mm.k, mm.n));
    if (rows_pick(0, 1)) mm.b.batch = 0;
    if (rows_pick(0, 1)) mm.addend = (sc_matrix){rows_ints(mm.n, 100000), 0, 0, 1};
    mm.record.quant.step = rows_pick(0, 1);
    if (rows_pick(0, 3)) mm.record.quant.zero = rows_ints(rows, 128);
    if (rows_pick(0, 3)) mm.record.quant.scale = rows_floats(rows);
    finish->scale = floats ? rows_reals(mm.n) : rows_powers(mm.n);
    if (!floats && rows_pick(0, 1)) rows_regrid(&mm.record);
    finish->scale_step = rows_pick(0, 1) != 0;
    finish->clamps = rows_pick(0, 1);
    finish->low = -100, finish->high = 50;
    finish->zero = (int32_t)rows_pick(-128, 127);
    if (floats && rows_pick(0, 1)) finish->shift = rows_floats(mm.n);
    if (!rows_agree(&mm.record, &mm.c, bytes, ran)) print_matmul(&mm);
}

// A scale for each column and each block of steps: powers of two so near each other that sums stay
// exact.
static float *block_scales(int64_t count) {
    float *scales = test_alloc((size_t)count * sizeof *scales);
    for (int64_t i = 0; i < count; i++) scales[i] = 1.0f / (float)(1 << rows_pick(0, 3));
    return scales;
}

// The same as bf16, as rows of bytes have them.
static uint16_t *block_halves(int64_t count) {
    const float *powers = block_scales(count);
    uint16_t *scales = test_alloc((size_t)count * sizeof *scales);
    for (int64_t i = 0; i < count; i++) scales[i] = sc_f32_to_bf16(powers[i]);
    return scales;
}

// Weights of few bits as linear layers have them: 4 or 8 bits or halves with floats, 4 bits or
// blocks with rows of bytes that have a grid of their own.
static void check_few_bits(uint32_t ran[ROWS_MAX]) {
    static const uint8_t floats_by[] = {SC_DTYPE_I8, SC_DTYPE_I4, SC_DTYPE_F16, SC_DTYPE_BF16};
    sc_matmul mm = {.record = f32_record};
    sc_record *r = &mm.record;
    pick_shape(&mm);
    mm.batch = 1;
    mm.c_row = mm.n, mm.c_column = 1;
    const bool bytes = rows_pick(0, 1), blocks = bytes && rows_pick(0, 1);
    r->weight = bytes ? (rows_pick(0, 2) ? SC_DTYPE_I4 : SC_DTYPE_I8) : floats_by[rows_pick(0, 3)];
    r->in = bytes ? SC_DTYPE_I8 : SC_DTYPE_F32;
    const bool is_half = r->weight == SC_DTYPE_F16 || r->weight == SC_DTYPE_BF16;
    const bool float_blocks = !bytes && !is_half && rows_pick(0, 1);
    if (blocks) r->weights.block = 32 * rows_pick(1, 2);
    if (float_blocks) r->weights.block = rows_pick(0, 2) ? 8 * rows_pick(1, 5) : rows_pick(1, 9);
    if (blocks || float_blocks) mm.k = rows_pick(1, 3) * r->weights.block;
    if (rows_pick(0, 3) == 0) mm.m = 1;
    const int64_t pitch = (mm.k + 1) / 2 * 2;
    r->weights.high_first = r->weight == SC_DTYPE_I4 && rows_pick(0, 1);
    mm.a = (sc_matrix){bytes ? (void *)rows_bytes(mm.m * mm.k) : (void *)rows_floats(mm.m * mm.k),
                       0, mm.k, 1};
    uint16_t *halves = test_alloc((size_t)(mm.n * pitch + 1) * sizeof *halves);
    for (int64_t i = 0; i < mm.n * pitch; i++) {
        const float value = (float)rows_pick(-16, 16) / 8;
        halves[i] = r->weight == SC_DTYPE_F16 ? sc_f32_to_f16(value) : sc_f32_to_bf16(value);
    }
    mm.b =
        (sc_matrix){is_half ? (void *)halves : (void *)rows_bytes(mm.n * pitch + 1), 0, 1, pitch};
    if (bytes) {
        r->quant = (sc_input_quant){rows_ints(mm.m, 128), rows_powers(mm.m), 1};
        if (blocks) r->weights.scales = block_halves(mm.n * (mm.k / r->weights.block + 1));
    }
    if (float_blocks)
        r->weights.float_scales = block_scales(mm.n * (mm.k / r->weights.block));
    else if (rows_pick(0, 2))
        r->finish.scale = rows_powers(mm.n), r->finish.scale_step = 1;
    if (rows_pick(0, 2)) r->finish.shift = rows_floats(mm.n);
    r->finish.clamps = rows_pick(0, 1);
    r->finish.low = -1, r->finish.high = 3;
    if (!rows_agree(r, &mm.c, (size_t)(mm.m * mm.n) * sizeof(float), ran)) print_matmul(&mm);
}

TEST_CASES(matmul_rows) {
    uint32_t ran[ROWS_MAX] = {0};
    if (!test_case("random layouts")) return;
    rows_random = 3;
    for (int i = 0; i < 2000; i++) check_floats(ran);
    for (int i = 0; i < 1500; i++) check_bytes(ran);
    for (int i = 0; i < 1500; i++) check_few_bits(ran);
    rows_were_reached(SC_RECORD_MATMUL, ran, 100);
}

// The sums of extremes are the largest, and wrap together with the bias. They are deep enough for
// every loop over steps. Every second product has weights of 4 bits.
TEST(matmul_of_extremes) {
    static const int32_t zeros[] = {-128, 127, 0};
    static const int8_t all[] = {-128, 127}, nibbles[] = {0, -1};
    uint32_t ran[ROWS_MAX] = {0};
    rows_random = 9;
    for (int i = 0; i < 384; i++) {
        sc_matmul mm = {.record = f32_record, .batch = 1, .alpha = 1, .beta = 1};
        sc_record *r = &mm.record;
        mm.m = i / 2 % 2 ? 1 : 6, mm.n = 9, mm.k = 1027 + i % 5;
        const int64_t pitch = (mm.k + 1) / 2 * 2;
        int8_t *a = rows_bytes(mm.m * mm.k), *b = rows_bytes(mm.n * pitch);
        memset(a, all[i / 4 % 2], (size_t)(mm.m * mm.k));
        memset(b, (i % 2 ? nibbles : all)[i / 8 % 2], (size_t)(mm.n * pitch));
        mm.a = (sc_matrix){a, 0, mm.k, 1}, mm.b = (sc_matrix){b, 0, 1, pitch};
        mm.addend = (sc_matrix){rows_ints(mm.n, INT32_MAX), 0, 0, 1};
        mm.c_row = mm.n, mm.c_column = 1;
        r->in = SC_DTYPE_I8, r->weight = i % 2 ? SC_DTYPE_I4 : SC_DTYPE_I8;
        r->bias = SC_DTYPE_I32;
        r->out = i % 2 || i / 16 % 2 ? SC_DTYPE_F32 : SC_DTYPE_I8;
        r->quant.zero = &zeros[i % 3];
        r->finish.scale = rows_powers(mm.n), r->finish.scale_step = 1;
        if (!rows_agree(r, &mm.c, (size_t)(mm.m * mm.n) * (r->out == SC_DTYPE_I8 ? 1 : 4), ran))
            print_matmul(&mm);
    }
}

// On numbers whose sums are not exact, rows may differ by what rounding each of n additions of at
// most 1 can do to two sums.
TEST(matmul_rows_round_in_bounds) {
    rows_random = 5;
    for (int i = 0; i < 300; i++) {
        sc_matmul mm = {.record = f32_record};
        const int64_t count = pick_shape(&mm);
        const float terms = (float)(mm.k + 1);
        mm.a.data = rows_reals(pick_layout(&mm.a, mm.batch, mm.m, mm.k));
        mm.b.data = rows_reals(pick_layout(&mm.b, mm.batch, mm.k, mm.n));
        mm.addend = (sc_matrix){rows_reals(mm.n), 0, 0, 1};
        if (rows_pick(0, 1)) mm.b.batch = 0;
        if (count != mm.batch * mm.m * mm.n) continue;  // has gaps
        if (!rows_are_close(&mm.record, &mm.c, (size_t)count, terms * terms * 0x1p-23f))
            print_matmul(&mm);
    }
}

// --- The definition, by hand ---------------------------------------------------------------------

// A row times a column of two bytes each.
static sc_matmul product_of_bytes(const int8_t a[2], const int8_t b[2], uint8_t out) {
    return (sc_matmul){.record = {.kind = SC_RECORD_MATMUL,
                                  .in = SC_DTYPE_I8,
                                  .weight = SC_DTYPE_I8,
                                  .bias = SC_DTYPE_I32,
                                  .out = out},
                       .batch = 1,
                       .m = 1,
                       .n = 1,
                       .k = 2,
                       .a = {a, 0, 2, 1},
                       .b = {b, 0, 1, 1},
                       .c_row = 1,
                       .c_column = 1,
                       .alpha = 1,
                       .beta = 1,
                       .alpha_int = 1,
                       .beta_int = 1};
}

TEST(matmul_integers_wrap) {
    const int8_t a[] = {100, 3}, b[] = {2, 1};
    sc_matmul mm = product_of_bytes(a, b, SC_DTYPE_I8);
    CHECK_EQ_INT(*(int8_t *)rows_expected(&mm.record, &mm.c, 1), -53);  // 203 - 256
    mm.record.in = mm.record.weight = mm.record.out = SC_DTYPE_C64;
    CHECK(sc_variant_best(&mm.record) == NULL);
}

TEST(matmul_requantizes) {
    const int8_t a[] = {100, 3}, b[] = {2, 1};
    const int32_t bias[] = {1}, zero[] = {3};
    const struct {
        float scale, low, high;
        int32_t zero;
        int8_t expected;
    } cases[] = {
        {1.0f / 32, -128, 127, 0, 6},       // (97 * 2 + 0 * 1 + 1) / 32 = 6.09
        {1.0f / 78, -128, 127, 0, 2},       // 2.5: ties go to even
        {1.0f / 130, -128, 127, -7, -5},    // 1.5, then the zero point
        {1, -128, 127, 0, 127},             // as high as it goes
        {1, -128, 50, 10, 50},              // or may go
        {-1.0f, -128, 127, 100, -95},       // 100 - 195
        {__builtin_nanf(""), -5, 5, 2, -5}  // not a number: the lower bound
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        sc_matmul mm = product_of_bytes(a, b, SC_DTYPE_I8);
        mm.addend = (sc_matrix){bias, 0, 0, 1};
        mm.record.quant.zero = zero;
        mm.record.finish = (sc_finish){.scale = &cases[i].scale,
                                       .clamps = true,
                                       .low = cases[i].low,
                                       .high = cases[i].high,
                                       .zero = cases[i].zero};
        CHECK_EQ_INT(*(int8_t *)rows_expected(&mm.record, &mm.c, 1), cases[i].expected);
    }
}

TEST(matmul_of_quantized_rows) {
    const int8_t a[] = {100, 3}, b[] = {2, 1};
    const int32_t zero[] = {3};
    const float row_scale[] = {0.5f}, scale[] = {0.25f}, shift[] = {1};
    sc_matmul mm = product_of_bytes(a, b, SC_DTYPE_F32);
    mm.record.quant = (sc_input_quant){zero, row_scale, 1};
    mm.record.finish = (sc_finish){.scale = scale, .scale_step = 1, .shift = shift};
    CHECK_CLOSE(*(float *)rows_expected(&mm.record, &mm.c, 4), 194 * 0.125 + 1, 0);
}

// A refusal of a kernel shows its call: the operator, every operand with its type and sizes, the
// result.
TEST(matmul_says_what_does_not_fit) {
    setup s;
    setup_begin(&s);
    REQUIRE_OK(sc_ops_init());
    int64_t sizes[3][2] = {{2, 3}, {4, 5}, {2, 5}}, strides[3][2] = {{3, 1}, {5, 1}, {5, 1}};
    float data[20] = {0};
    sc_tensor tensors[3];
    sc_evalue values[3], *args[3];
    for (int i = 0; i < 3; i++) {
        tensors[i] = (sc_tensor){.dtype = SC_DTYPE_F32,
                                 .rank = 2,
                                 .sizes = sizes[i],
                                 .strides = strides[i],
                                 .numel = sizes[i][0] * sizes[i][1],
                                 .data = data};
        values[i] = (sc_evalue){.tag = SC_EVALUE_TENSOR, .tensor = &tensors[i]};
        args[i] = &values[i];
    }
    sc_kernel_call call = {.ctx = &s.ctx, .op = sc_op_get(SC_OP_mm), .args = args, .arg_count = 3};
    CHECK_STATUS(sc_kernel_get(SC_OP_mm)->run(&call), SC_ERR_SHAPE);
    CHECK_EQ_STR(setup_message(&s),
                 "aten::mm: the matrices do not fit together (f32[2, 3], f32[4, 5] -> f32[2, 5])");
    sizes[1][0] = 3;  // and half precision, which is computed on copies
    for (int i = 0; i < 3; i++) tensors[i].dtype = SC_DTYPE_F16;
    CHECK_STATUS(sc_kernel_get(SC_OP_mm)->run(&call), SC_ERR_INTERNAL);
    CHECK_EQ_STR(setup_message(&s),
                 "aten::mm: more scratch is needed than was reserved when the method was loaded "
                 "(f16[2, 3], f16[3, 5] -> f16[2, 5])");
    for (int i = 0; i < 3; i++) tensors[i].dtype = SC_DTYPE_C64;
    CHECK_STATUS(sc_kernel_get(SC_OP_mm)->run(&call), SC_ERR_DTYPE);
    CHECK_EQ_STR(
        setup_message(&s),
        "aten::mm: there is no kernel for operands like these (c64[2, 3], c64[3, 5] -> c64[2, 5])");
    for (int i = 0; i < 3; i++) tensors[i].dtype = SC_DTYPE_F32;
    CHECK_STATUS(sc_pair_fail(&s.ctx, &tensors[0], "does not broadcast to", &tensors[2]),
                 SC_ERR_SHAPE);
    CHECK_EQ_STR(setup_message(&s), "f32[2, 3] does not broadcast to f32[2, 5]");
    setup_end(&s);
}
