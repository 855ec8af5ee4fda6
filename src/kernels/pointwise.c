// Runs a row of pointwise.def over tensors. It chooses the compute class by PyTorch's promotion,
// and walks operands of any dtype, shape and stride in blocks. It skips gathering and conversion if
// an operand's memory has the form that the loop needs.
// In wasm: -Os
#include "kernels/pointwise.h"

#include <math.h>

#include "base/parallel.h"
#include "kernels/complex.h"

typedef enum operand_kind { OPERAND_DIRECT, OPERAND_CONSTANT, OPERAND_STREAM } operand_kind;

typedef struct operand {
    operand_kind kind;
    sc_class class_;
    bool is_native;  // memory equals a block where elements are adjacent
    uint32_t block_item_bytes;
    sc_stream stream;
    sc_load_fn load;
} operand;

typedef union block {
    double align;
    uint8_t bytes[SC_BLOCK * sizeof(double)];
} block;

typedef struct plan {
    const sc_kernel_call *call;
    const sc_pw_row *row;
    const char *arguments;
    sc_tensor *out;
    sc_dtype common;               // the dtype to which operands promote
    sc_class class_;               // of operands
    sc_class result;               // of results
    bool out_is_dense, is_direct;  // `is_direct`: loops write to the result's memory
    sc_store_fn store;
    sc_stream to;  // if it is not direct
    int64_t fill;  // elements of a constant block that are read
    sc_pw_params params;
    const char *limit;  // why a loop stopped
    uint32_t operand_count;
    operand operands[3];
    block blocks[3];
} plan;

static sc_category number_category(const sc_evalue *value) {
    switch (value->tag) {
    case SC_EVALUE_DOUBLE: return SC_CATEGORY_FLOAT;
    case SC_EVALUE_BOOL: return SC_CATEGORY_BOOL;
    default: return SC_CATEGORY_INT;
    }
}

static sc_status choose_class(plan *p) {
    sc_promotion promotion;
    memset(&promotion, 0, sizeof promotion);
    for (uint32_t i = 0; p->arguments[i]; i++) {
        const sc_evalue *value = p->call->args[i];
        bool promotes = strchr("tslu", p->arguments[i]) != NULL;
        if (promotes && value->tag == SC_EVALUE_TENSOR)
            sc_promotion_add_tensor(&promotion, (sc_dtype)value->tensor->dtype,
                                    value->tensor->rank > 0);
        else if (promotes && value->tag != SC_EVALUE_NONE)
            sc_promotion_add_number(&promotion, number_category(value));
    }
    p->common = sc_promotion_result(&promotion);
    p->class_ = p->common == SC_DTYPE_NONE ? SC_CLASS_COUNT : sc_class_of(p->common);
    if (p->class_ == SC_CLASS_COUNT) return sc_call_no_kernel(p->call);
    const bool is_real = p->row->kind == SC_PW_FLOAT || p->row->kind == SC_PW_LIMITED;
    if (is_real && p->class_ < SC_CLASS_F32)
        p->class_ = p->out->dtype == SC_DTYPE_F64 ? SC_CLASS_F64 : SC_CLASS_F32;
    if (p->row->kind == SC_PW_LOGIC) p->class_ = SC_CLASS_B8;
    bool is_test = p->row->kind == SC_PW_TEST || p->row->kind == SC_PW_LOGIC;
    p->result = is_test ? SC_CLASS_B8 : p->class_;
    if (!p->row->loops[p->class_]) return sc_call_no_kernel(p->call);
    if (p->result >= SC_CLASS_F32 && !sc_dtype_is_float((sc_dtype)p->out->dtype))
        return sc_call_no_kernel(p->call);
    return SC_OK;
}

// In half precision PyTorch rounds numbers, and tensors without dims, to the dtype first. It does
// not round factors and divisors.
static bool is_rounded(const plan *p, uint32_t k) {
    const bool scales = p->row == &sc_pw_mul || p->row == &sc_pw_div ||
                        p->row == &sc_pw_div_trunc || p->row == &sc_pw_div_floor;
    return p->class_ == SC_CLASS_F32 && sc_dtype_is_half(p->common) && !(scales && k == 1);
}

static bool has_alpha(const sc_pw_row *row) {
    return row == &sc_pw_add || row == &sc_pw_sub || row == &sc_pw_rsub;
}

static double rounded(const plan *p, double number) {
    uint8_t narrow[8] = {0};
    float wide;
    sc_put_number(narrow, p->common, number, 0, true);
    sc_loader(SC_CLASS_F32, p->common)(&wide, narrow, 0, 1);
    return (double)wide;
}

// A number as every element of operand `k`; integers wrap to the common dtype first.
static void set_constant(plan *p, uint32_t k, double real, int64_t integer, bool is_real) {
    operand *o = &p->operands[k];
    uint8_t narrow[8] = {0};
    o->kind = OPERAND_CONSTANT;
    o->class_ = p->class_;
    if (p->class_ >= SC_CLASS_F32 && !is_rounded(p, k)) {
        sc_load_fn load = sc_loader(p->class_, is_real ? SC_DTYPE_F64 : SC_DTYPE_I64);
        load(p->blocks[k].bytes, is_real ? (const void *)&real : (const void *)&integer, 0,
             p->fill);
        return;
    }
    sc_put_number(narrow, p->common, real, integer, is_real);
    sc_loader(p->class_, p->common)(p->blocks[k].bytes, narrow, 0, p->fill);
}

static sc_status set_tensor(plan *p, uint32_t k, const sc_tensor *tensor, sc_class class_) {
    operand *o = &p->operands[k];
    o->class_ = class_;
    o->load = sc_loader(class_, tensor->dtype);
    o->block_item_bytes = sc_class_bytes(class_);
    o->is_native = sc_class_is_native(class_, tensor->dtype);
    if (!o->load) return sc_call_no_kernel(p->call);
    if (o->is_native && p->out_is_dense && sc_same_layout(tensor, p->out)) {
        o->kind = OPERAND_DIRECT;
        o->stream.data = tensor->data;
        o->stream.item_bytes = sc_dtype_bytes((sc_dtype)tensor->dtype);
        return SC_OK;
    }
    SC_TRY(sc_stream_open(p->call->ctx, &o->stream, tensor, p->out));
    if (!sc_stream_is_constant(&o->stream)) {
        o->kind = o->is_native && sc_stream_is_dense(&o->stream) ? OPERAND_DIRECT : OPERAND_STREAM;
        return SC_OK;
    }
    o->kind = OPERAND_CONSTANT;
    bool narrows = class_ == p->class_ && class_ <= SC_CLASS_I64 && class_ != SC_CLASS_B8 &&
                   tensor->dtype != p->common;
    uint8_t narrow[8] = {0};
    if (narrows) {  // a 0-dim integer wider than the result wraps
        int64_t value = 0;
        sc_loader(SC_CLASS_I64, tensor->dtype)(&value, tensor->data, 0, 1);
        sc_put_number(narrow, p->common, 0, value, false);
        sc_loader(class_, p->common)(p->blocks[k].bytes, narrow, 0, p->fill);
        return SC_OK;
    }
    if (class_ == p->class_ && is_rounded(p, k) && tensor->dtype != p->common) {
        double value;
        sc_loader(SC_CLASS_F64, tensor->dtype)(&value, tensor->data, 0, 1);
        set_constant(p, k, value, 0, true);
        return SC_OK;
    }
    o->load(p->blocks[k].bytes, tensor->data, 0, p->fill);
    return SC_OK;
}

static void set_unbounded(plan *p, uint32_t k, bool upper) {
    if (p->class_ >= SC_CLASS_F32) {
        set_constant(p, k, upper ? INFINITY : -INFINITY, 0, true);
        return;
    }
    // It is beyond every value of narrower dtypes too, so it is not wrapped.
    int64_t limit = p->class_ == SC_CLASS_I32 ? (upper ? INT32_MAX : INT32_MIN)
                                              : (upper ? INT64_MAX : INT64_MIN);
    p->operands[k].kind = OPERAND_CONSTANT;
    p->operands[k].class_ = p->class_;
    sc_loader(p->class_, SC_DTYPE_I64)(p->blocks[k].bytes, &limit, 0, p->fill);
}

static void set_number(plan *p, uint32_t k, uint32_t argument) {
    const char role = p->arguments[argument];
    int64_t integer = sc_call_integer(p->call, argument);
    if ((role == 'l' || role == 'u') && sc_dtype_is_integral(p->common, false))
        integer = sc_dtype_bound(p->common, integer);
    set_constant(p, k, sc_call_number(p->call, argument), integer,
                 p->call->args[argument]->tag == SC_EVALUE_DOUBLE);
}

static sc_status set_operand(plan *p, uint32_t k, uint32_t argument) {
    char role = p->arguments[argument];
    const sc_evalue *value = p->call->args[argument];
    if (value->tag == SC_EVALUE_TENSOR)
        return set_tensor(p, k, value->tensor, role == 'm' ? SC_CLASS_B8 : p->class_);
    if (value->tag == SC_EVALUE_NONE && (role == 'l' || role == 'u')) {
        set_unbounded(p, k, role == 'u');
        return SC_OK;
    }
    if (role == 't' || role == 'm' || role == 'w' || value->tag == SC_EVALUE_NONE)
        return sc_call_fail(p->call, SC_ERR_ARGUMENT, "argument %u is missing", argument);
    set_number(p, k, argument);
    return SC_OK;
}

static sc_status read_arguments(plan *p) {
    uint32_t k = 0, number = 0;
    const char *mask = strchr(p->arguments, 'm');
    if (mask) SC_TRY(set_operand(p, k++, (uint32_t)(mask - p->arguments)));
    for (uint32_t i = 0; p->arguments[i]; i++) {
        char role = p->arguments[i];
        if (role == 'm') continue;
        if (role != 'p' && role != 'e') {
            SC_TRY(set_operand(p, k++, i));
            continue;
        }
        bool absent = sc_call_is_none(p->call, i);
        p->params.real[number] = absent ? -1.0 : sc_call_number(p->call, i);
        p->params.integer[number] = absent ? -1 : sc_call_integer(p->call, i);
        if (p->row == &sc_pw_hardtanh && sc_dtype_is_integral(p->common, false))
            p->params.integer[number] = sc_dtype_nearest(p->common, p->params.integer[number]);
        if (has_alpha(p->row) && is_rounded(p, 0))
            p->params.real[number] = rounded(p, p->params.real[number]);
        number++;
    }
    p->operand_count = k;
    return SC_OK;
}

// The next `n` elements of an operand as a dense block, copied only if memory is no such block.
static const void *next_block(plan *p, uint32_t k, int64_t position, int64_t n) {
    operand *o = &p->operands[k];
    sc_stream *s = &o->stream;
    if (o->kind == OPERAND_CONSTANT) return p->blocks[k].bytes;
    if (o->kind == OPERAND_DIRECT) return s->data + position * s->item_bytes;
    uint32_t last = s->rank - 1;
    if (o->is_native && s->strides[last] == 1 && s->sizes[last] - s->index[last] >= n) {
        char *data;
        int64_t stride;
        sc_stream_run(s, n, &data, &stride);
        return data;
    }
    sc_stream_load(s, o->load, p->blocks[k].bytes, o->block_item_bytes, n);
    return p->blocks[k].bytes;
}

static bool has_zero(const void *values, sc_class class_, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (class_ == SC_CLASS_I32 ? ((const int32_t *)values)[i] == 0
                                   : ((const int64_t *)values)[i] == 0)
            return true;
    }
    return false;
}

// The number of elements for the next call of the loop: all that are left if memory has the form of
// the loop, else a block.
static int64_t next_length(const plan *p, int64_t left) {
    int64_t n = p->is_direct ? left : sc_min_i64(left, SC_BLOCK);
    for (uint32_t k = 0; k < p->operand_count; k++) {
        const operand *o = &p->operands[k];
        uint32_t last = o->stream.rank - 1;
        if (o->kind == OPERAND_DIRECT) continue;
        int64_t run = 0;
        if (o->kind == OPERAND_STREAM && o->is_native && o->stream.strides[last] == 1)
            run = o->stream.sizes[last] - o->stream.index[last];
        n = sc_min_i64(n, sc_max_i64(run, SC_BLOCK));
    }
    return n;
}

static sc_status choose_store(plan *p) {
    const bool is_native = sc_class_is_native(p->result, p->out->dtype) ||
                           (p->result == SC_CLASS_B8 && p->out->dtype == SC_DTYPE_BOOL);
    p->is_direct = is_native && p->out_is_dense;
    p->store = sc_storer(p->result, p->out->dtype);
    if (!p->store) return sc_call_no_kernel(p->call);
    return p->is_direct ? SC_OK : sc_stream_open(p->call->ctx, &p->to, p->out, p->out);
}

// Elements [from, to) of the result, with all streams at `from`. Divisors are checked if
// `divided_by_zero` is given.
static void run_blocks(plan *p, int64_t from, int64_t to, bool *divided_by_zero) {
    block result;
    const sc_pw_loop loop = p->row->loops[p->class_];
    const uint32_t width = sc_dtype_bytes((sc_dtype)p->out->dtype);
    for (int64_t i = from, n; i < to && !p->limit; i += n) {
        n = next_length(p, to - i);
        const void *in[3] = {NULL, NULL, NULL};
        for (uint32_t k = 0; k < p->operand_count; k++) in[k] = next_block(p, k, i, n);
        if (divided_by_zero && !*divided_by_zero) *divided_by_zero = has_zero(in[1], p->class_, n);
        void *at = p->is_direct ? (void *)((char *)p->out->data + i * width) : result.bytes;
        loop(at, in, &p->params, n);
        if (!p->is_direct && !p->limit)
            sc_stream_store(&p->to, p->store, result.bytes, sc_class_bytes(p->result), n);
    }
}

static void seek(plan *p, int64_t at) {
    if (!p->is_direct) sc_stream_seek(&p->to, at);
    for (uint32_t k = 0; k < p->operand_count; k++)
        if (p->operands[k].kind == OPERAND_STREAM) sc_stream_seek(&p->operands[k].stream, at);
}

// Streams and blocks are those of the part.
static void run_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    plan *whole = work;
    (void)thread;
    if (from == 0 && to == whole->out->numel) {
        run_blocks(whole, from, to, NULL);
        return;
    }
    plan part = *whole;
    seek(&part, from);
    run_blocks(&part, from, to, NULL);
}

// Loops that check or stop leave the first problem in the plan, so one thread runs them.
static sc_status run_alone(plan *p, bool is_checked) {
    bool divided_by_zero = false;
    run_blocks(p, 0, p->out->numel, is_checked ? &divided_by_zero : NULL);
    if (p->limit) return sc_call_fail(p->call, SC_ERR_LIMIT, "%s", p->limit);
    if (divided_by_zero) return sc_call_fail(p->call, SC_ERR_NUMERIC, "integer division by zero");
    return SC_OK;
}

static double cost_of(const plan *p) {
    double cost = sc_pointwise_cost(p->row, p->class_);
    if (!p->is_direct) cost += SC_COST_CONVERT;
    for (uint32_t k = 0; k < p->operand_count; k++)
        if (p->operands[k].kind == OPERAND_STREAM) cost += SC_COST_CONVERT;
    return cost;
}

double sc_pointwise_cost(const sc_pw_row *row, sc_class class_) {
    const bool is_quotient = row == &sc_pw_div || row == &sc_pw_reciprocal || row == &sc_pw_sqrt;
    const bool is_function = row == &sc_pw_pow || (row->kind == SC_PW_FLOAT && !is_quotient);
    return is_function ? SC_COST_FUNCTION : class_ == SC_CLASS_F32 ? SC_COST_SUM : 2 * SC_COST_SUM;
}

sc_status sc_pointwise_run(const sc_kernel_call *call, const sc_pw_row *row,
                           const char *arguments) {
    plan p;
    if (sc_complex_is_given(call)) return sc_complex_pointwise(call, row);
    p.call = call;
    p.row = row;
    p.arguments = arguments;
    p.out = sc_call_out(call);
    p.limit = NULL;
    p.params = (sc_pw_params){.limit = &p.limit};
    SC_TRY(choose_class(&p));
    if (p.out->numel == 0) return SC_OK;
    p.out_is_dense = sc_tensor_is_dense(p.out);
    p.fill = sc_min_i64(p.out->numel, SC_BLOCK);
    SC_TRY(read_arguments(&p));
    SC_TRY(choose_store(&p));
    const bool is_checked = row->kind == SC_PW_CHECKED && p.class_ < SC_CLASS_F32;
    if (is_checked || row->kind == SC_PW_LIMITED) return run_alone(&p, is_checked);
    sc_parallel_rows(p.out->numel, cost_of(&p), run_part, &p);
    return SC_OK;
}

#define PW_BIND(name, row, arguments)                           \
    static sc_status run_##name(const sc_kernel_call *call) {   \
        return sc_pointwise_run(call, &sc_pw_##row, arguments); \
    }                                                           \
    SC_KERNEL(pw_##name, .run = run_##name);
#include "kernels/pointwise.def"
