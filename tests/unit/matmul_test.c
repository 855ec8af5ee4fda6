// Strided matrix products against three plain loops: every mix of row-major, column-major and
// scattered operands, transposed results, biases that broadcast, factors.
#include "kernels/kernel.h"
#include "kernels/matmul.h"
#include "setup.h"

static uint32_t random_state = 3;

static int64_t pick(int64_t low, int64_t high) {
    random_state = random_state * 1664525u + 1013904223u;
    return low + (int64_t)((random_state >> 8) % (uint64_t)(high - low + 1));
}

// A batch of rows x columns in a random layout.
static sc_matrix random_matrix(int64_t batch, int64_t rows, int64_t columns) {
    sc_matrix m = {0};
    int64_t gap = 1;
    switch (pick(0, 2)) {
    case 0: m.column = 1, m.row = columns; break;
    case 1: m.row = 1, m.column = rows; break;
    default: gap = 2, m.column = 2, m.row = 2 * columns; break;
    }
    m.batch = rows * columns * gap;
    float *values = test_alloc((size_t)(batch * m.batch + 1) * sizeof(float));
    for (int64_t i = 0; i < batch * m.batch; i++) values[i] = (float)pick(-16, 16) / 8;
    m.data = values;
    return m;
}

static float at(const sc_matrix *m, int64_t batch, int64_t row, int64_t column) {
    return ((const float *)m->data)[batch * m->batch + row * m->row + column * m->column];
}

static float expected_at(const sc_matmul *mm, int64_t batch, int64_t i, int64_t j) {
    float sum = 0;
    for (int64_t k = 0; k < mm->k; k++) sum += at(&mm->a, batch, i, k) * at(&mm->b, batch, k, j);
    sum *= (float)mm->alpha;
    return mm->self.data ? sum + (float)mm->beta * at(&mm->self, batch, i, j) : sum;
}

static void set_self(sc_matmul *mm) {
    if (pick(0, 2) == 0) return;
    mm->self = random_matrix(mm->batch, mm->m, mm->n);
    if (pick(0, 1)) mm->self.row = 0, mm->self.column = 1, mm->self.batch = 0;
    if (pick(0, 1)) mm->alpha = 0.5, mm->beta = -2;
}

static void check_random(void) {
    sc_matmul mm = {.batch = pick(1, 3),
                    .m = pick(1, 20),
                    .n = pick(1, 40),
                    .k = pick(0, 12),
                    .alpha = 1,
                    .beta = 1};
    mm.a = random_matrix(mm.batch, mm.m, mm.k);
    mm.b = random_matrix(mm.batch, mm.k, mm.n);
    set_self(&mm);
    bool swapped = pick(0, 2) == 0;
    mm.c_row = swapped ? 1 : mm.n, mm.c_column = swapped ? mm.m : 1, mm.c_batch = mm.m * mm.n;
    if (pick(0, 9) == 0) mm.c_row *= 2, mm.c_column *= 2, mm.c_batch *= 2;
    float *c = test_alloc((size_t)(mm.batch * mm.c_batch) * sizeof(float));
    mm.c = c;
    // Less scratch than it wants, too.
    uint64_t scratch = pick(0, 4) ? sc_matmul_scratch(&mm) : 0;
    sc_matmul_f32(&mm, test_alloc((size_t)scratch + 1), scratch);
    for (int64_t b = 0; b < mm.batch; b++) {
        for (int64_t i = 0; i < mm.m; i++) {
            for (int64_t j = 0; j < mm.n; j++) {
                float got = c[b * mm.c_batch + i * mm.c_row + j * mm.c_column];
                if (got == expected_at(&mm, b, i, j)) continue;
                FAIL("%d x %d x %d: %g is not %g", (int)mm.m, (int)mm.n, (int)mm.k, (double)got,
                     (double)expected_at(&mm, b, i, j));
                return;
            }
        }
    }
}

TEST(matmul_random_layouts) {
    for (int i = 0; i < 2000; i++) check_random();
}

TEST(matmul_integers_wrap) {
    const int8_t a[] = {100, 3}, b[] = {2, 1};
    int8_t c[1];
    sc_matmul mm = {.batch = 1,
                    .m = 1,
                    .n = 1,
                    .k = 2,
                    .a = {a, 0, 2, 1},
                    .b = {b, 0, 1, 1},
                    .c = c,
                    .c_row = 1,
                    .c_column = 1,
                    .alpha_int = 1,
                    .beta_int = 1};
    sc_matmul_slow(SC_DTYPE_I8)(&mm);
    CHECK_EQ_INT(c[0], -53);  // 203 - 256
    CHECK(sc_matmul_slow(SC_DTYPE_C64) == NULL);
}

// What a kernel refuses it shows: the operator, every operand with its type and sizes, the result.
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
    CHECK_EQ_STR(setup_message(&s),
                 "aten::mm: there is no kernel for complex64 (c64[2, 3], c64[3, 5] -> c64[2, 5])");
    for (int i = 0; i < 3; i++) tensors[i].dtype = SC_DTYPE_F32;
    CHECK_STATUS(sc_pair_fail(&s.ctx, &tensors[0], "does not broadcast to", &tensors[2]),
                 SC_ERR_SHAPE);
    CHECK_EQ_STR(setup_message(&s), "f32[2, 3] does not broadcast to f32[2, 5]");
    setup_end(&s);
}
