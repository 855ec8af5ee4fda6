// Products with a table of 4 or 8 bits that has a scale for each group of columns, as tables of
// embeddings have them. The integers are multiplied as they are and never widened as a whole.
#include "kernels/product_table.h"

#include "base/parallel.h"
#include "compute/matmul.h"
#include "kernels/product.h"

enum { INPUT, TABLE, SCALES, BIAS, ARGS_MIN = 4 };

typedef struct product {
    const sc_tensor *input, *table, *scales, *bias;
    sc_tensor *out;
    uint32_t per_byte;
    int64_t rows, outputs, inputs, groups;
} product;

static bool is_row_major(const sc_tensor *t, uint32_t rank) {
    for (uint32_t d = 0; d < t->rank; d++)
        if (t->dim_order[d] != d) return false;
    return t->rank == rank;
}

static bool is_floats(const sc_tensor *t, uint32_t rank) {
    return t && t->dtype == SC_DTYPE_F32 && is_row_major(t, rank);
}

static bool read_table(const sc_kernel_call *call, product *p) {
    const sc_product_table_form *form = call->form;
    const sc_tensor *table = p->table = sc_call_tensor(call, TABLE);
    const sc_tensor *scales = p->scales = sc_call_tensor(call, SCALES);
    p->per_byte = form->bits == 4 ? 2 : 1;
    if (!table || !scales || !is_row_major(table, 2) ||
        table->dtype != (form->bits == 4 ? SC_DTYPE_U8 : SC_DTYPE_I8) ||
        !is_floats(scales, scales->rank) || scales->rank < 1 || scales->rank > 2)
        return false;
    p->outputs = table->sizes[0];
    p->inputs = table->sizes[1] * p->per_byte;
    p->groups = scales->rank == 2 ? scales->sizes[1] : 1;
    return scales->sizes[0] == p->outputs && p->inputs > 0 && p->groups > 0 &&
           p->inputs % p->groups == 0;
}

static bool read_product(const sc_kernel_call *call, product *p) {
    *p = (product){.input = sc_call_tensor(call, INPUT), .out = sc_call_out(call)};
    if (!read_table(call, p) || !is_floats(p->input, 2) || !is_floats(p->out, 2) ||
        p->input->sizes[1] != p->inputs || p->out->sizes[1] != p->outputs)
        return false;
    p->bias = call->arg_count > ARGS_MIN ? sc_call_tensor(call, BIAS) : NULL;
    p->rows = p->input->sizes[0];
    return call->arg_count == ARGS_MIN ||
           (is_floats(p->bias, 1) && p->bias->sizes[0] == p->outputs);
}

// Bounds wait for the bias.
static sc_matmul matmul_of(const sc_kernel_call *call, const product *p) {
    sc_matmul mm = {.record = sc_product_record(call, SC_RECORD_MATMUL, SC_DTYPE_F32),
                    .batch = 1,
                    .m = p->rows,
                    .n = p->outputs,
                    .k = p->inputs,
                    .a = {p->input->data, 0, p->inputs, 1},
                    .b = {p->table->data, 0, 1, p->inputs},
                    .c = p->out->data,
                    .c_row = p->outputs,
                    .c_column = 1,
                    .alpha = 1,
                    .beta = 1,
                    .alpha_int = 1,
                    .beta_int = 1};
    mm.record.weight = p->per_byte == 2 ? SC_DTYPE_I4 : SC_DTYPE_I8;
    mm.record.weights = (sc_weight_quant){
        .float_scales = p->scales->data, .block = p->inputs / p->groups, .high_first = true};
    if (p->bias) mm.record.finish = (sc_finish){.clamps = false};
    return mm;
}

bool sc_product_table_fits(const sc_kernel_call *call) {
    product p;
    return read_product(call, &p);
}

// --- The bias ------------------------------------------------------------------------------------

typedef struct addition {
    const product *p;
    const sc_finish *finish;
} addition;

static void add_bias(void *work, int64_t from, int64_t to, uint32_t thread) {
    const addition *a = work;
    const float *bias = a->p->bias->data;
    float *row = (float *)a->p->out->data + from * a->p->outputs;
    (void)thread;
    for (int64_t i = from; i < to; i++, row += a->p->outputs)
        for (int64_t j = 0; j < a->p->outputs; j++)
            row[j] = a->finish ? sc_finish_float(a->finish, row[j] + bias[j], j) : row[j] + bias[j];
}

// --- The kernel ----------------------------------------------------------------------------------

static sc_status run(const sc_kernel_call *call) {
    const sc_tensor *input = sc_call_tensor(call, INPUT);
    sc_tensor *out = sc_call_out(call);
    product p;
    if (input && input->rank == 2 && out->rank == 2) {
        const int64_t sizes[2] = {input->sizes[0], out->sizes[1]};
        SC_TRY(sc_call_resize(call, out, sizes));
    }
    if (!read_product(call, &p))
        return sc_call_fail(call, SC_ERR_SHAPE, "rows and table do not fit together");
    if (p.out->numel == 0) return SC_OK;
    const sc_matmul mm = matmul_of(call, &p);
    const sc_variant *variant = sc_product_variant(call, &mm.record, call->scratch_bytes);
    if (!variant) return sc_call_no_kernel(call);
    sc_product_run(call, variant, &mm.record, call->scratch);
    addition work = {&p, call->finish};
    if (p.bias) sc_parallel_rows(p.rows, SC_COST_SUM * (double)p.outputs, add_bias, &work);
    return SC_OK;
}

static uint64_t scratch(const sc_kernel_call *call) {
    product p;
    if (!read_product(call, &p)) return 0;
    const sc_matmul mm = matmul_of(call, &p);
    const sc_variant *variant = sc_product_variant(call, &mm.record, UINT64_MAX);
    return variant ? sc_variant_scratch_bytes(variant, &mm.record) : 0;
}

static bool packs(const sc_kernel_call *call, sc_packing *packing) {
    product p;
    if (!read_product(call, &p)) return false;
    const sc_matmul mm = matmul_of(call, &p);
    if (!sc_product_packs(&mm.record, TABLE, SCALES, packing)) return false;
    packing->always_fits = true;
    packing->is_needed = true;
    return true;
}

static void pack(const sc_kernel_call *call, const sc_packing *packing) {
    product p;
    if (!read_product(call, &p)) return;
    const sc_matmul mm = matmul_of(call, &p);
    sc_product_pack(&mm.record, packing);
}

const sc_kernel sc_k_product_table = {.run = run, .scratch = scratch, .packs = packs, .pack = pack};
