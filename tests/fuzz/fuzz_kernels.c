// Kernels on calls made up from bytes: any operator that has one, small tensors of any dtype, rank,
// size and dim order, numbers of the kinds that its schema allows. A call goes the way it goes in
// the runtime: kinds checked, shapes inferred, a constant packed, scratch asked for at the largest
// sizes, then run, and run again on smaller inputs. Every block is exactly as long as its tensor,
// some do not begin at 16 bytes, some results lie where an operand does. A call that the runtime
// lets through must not break the kernel, nor write to a constant.
#include <math.h>
#include <stdlib.h>

#include "bytes.h"
#include "ops/infer.h"
#include "rt/run/shape.h"
#include "rt/run/tensor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NUMEL_MAX = 1024, BYTES_MAX = 64 << 10, BLOCKS_MAX = 256, ARGS_MAX = 64, REPEATS = 3 };

typedef struct block {
    void *memory;
    sc_tensor *tensor;
    uint8_t *before;  // of a constant
} block;

typedef struct source {
    byte_stream in;
    sc_arena *arena;
    sc_ctx *ctx;
    block blocks[BLOCKS_MAX];
    uint32_t count;
    uint64_t bytes;          // of all tensors
    const sc_tensor *first;  // the tensor that others are like
} source;

// --- Numbers -------------------------------------------------------------------------------------

static int64_t number(source *s) {
    static const int64_t odd[] = {INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1,
                                  INT32_MAX, INT32_MIN, 1 << 30,       (int64_t)1 << 40};
    uint8_t b = next_byte(&s->in);
    if (b >= 240) return odd[b % SC_COUNT_OF(odd)];
    return b >= 200 ? -(int64_t)(b - 199) : b >= 180 ? b : b % 6;
}

static double real(source *s) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, 1e-300, -0.0, 1e10};
    uint8_t b = next_byte(&s->in);
    return b >= 240 ? odd[b % SC_COUNT_OF(odd)] : ((double)b - 100) / 8;
}

// --- Tensors -------------------------------------------------------------------------------------

static void fill(source *s, sc_tensor *t, uint8_t how) {
    uint64_t bytes = sc_rt_tensor_bytes(t);
    uint8_t *to = t->data;
    s->in.random = how * 2654435761u;
    if (how % 4 == 0) {
        memset(to, 0, (size_t)bytes);
        return;
    }
    for (uint64_t i = 0; i < bytes; i++) to[i] = (uint8_t)next_noise(&s->in);
    if (how % 4 == 1 || t->dtype == SC_DTYPE_BOOL) return;
    // Small numbers, as indices and sensible operands are.
    for (int64_t i = 0; i < t->numel; i++) {
        int32_t value = (int32_t)(next_noise(&s->in) % 9) - (how % 4 == 2 ? 0 : 4);
        switch (t->dtype) {
        case SC_DTYPE_F32: ((float *)t->data)[i] = (float)value / 2; break;
        case SC_DTYPE_F64: ((double *)t->data)[i] = (double)value / 2; break;
        case SC_DTYPE_I64: ((int64_t *)t->data)[i] = value; break;
        case SC_DTYPE_I32: ((int32_t *)t->data)[i] = value; break;
        default: return;
        }
    }
}

// Memory that ends where the tensor does; its address is a multiple of the element's size only.
static void give_memory(source *s, sc_tensor *t, uint8_t how) {
    uint32_t item = sc_dtype_bytes((sc_dtype)t->dtype);
    size_t shift = how % 5 == 0 && item < 16 ? item : 0;
    block *b = &s->blocks[s->count++];
    *b = (block){.memory = malloc((size_t)t->capacity_bytes + shift), .tensor = t};
    SC_ASSERT(b->memory);
    t->data = (uint8_t *)b->memory + shift;
    if (t->capacity_bytes) memset(t->data, 0xa5, (size_t)t->capacity_bytes);
}

static void set_order(source *s, sc_tensor *t, uint8_t how) {
    for (uint32_t d = 0; d < t->rank; d++) t->dim_order[d] = (uint8_t)d;
    if (how < 180 || t->rank < 2) return;
    if (how < 230 && t->rank >= 3) {  // channels last
        for (uint32_t d = 1; d + 1 < t->rank; d++) t->dim_order[d] = (uint8_t)(d + 1);
        t->dim_order[t->rank - 1] = 1;
        return;
    }
    for (uint32_t d = t->rank; d-- > 1;) {
        uint32_t other = next_noise(&s->in) % (d + 1);
        uint8_t kept = t->dim_order[d];
        t->dim_order[d] = t->dim_order[other];
        t->dim_order[other] = kept;
    }
}

static sc_tensor *new_tensor(source *s, uint8_t dtype, uint32_t rank) {
    sc_tensor *t = sc_new(s->arena, sc_tensor);
    *t = (sc_tensor){.dtype = dtype, .rank = (uint8_t)rank, .is_dynamic = true};
    t->sizes = sc_new_array(s->arena, int64_t, rank + 1);
    t->strides = sc_new_array(s->arena, int64_t, rank + 1);
    t->dim_order = sc_new_array(s->arena, uint8_t, rank + 1);
    return t;
}

static uint8_t any_dtype(source *s) {
    static const uint8_t dtypes[] = {
        SC_DTYPE_F32, SC_DTYPE_F32,  SC_DTYPE_F32, SC_DTYPE_I64,    SC_DTYPE_I32,
        SC_DTYPE_U8,  SC_DTYPE_I8,   SC_DTYPE_I16, SC_DTYPE_BOOL,   SC_DTYPE_F16,
        SC_DTYPE_F64, SC_DTYPE_BF16, SC_DTYPE_U16, SC_DTYPE_U32,    SC_DTYPE_U64,
        SC_DTYPE_C64, SC_DTYPE_C128, SC_DTYPE_C32, SC_DTYPE_F8E5M2, SC_DTYPE_F8E4M3FN};
    return dtypes[next_byte(&s->in) % SC_COUNT_OF(dtypes)];
}

// Like the first tensor, but for what the bytes change.
static sc_evalue *tensor_value(source *s) {
    const sc_tensor *like = s->first;
    uint8_t how = next_byte(&s->in);
    uint32_t rank = like && how % 2 ? like->rank
                    : how < 250     ? how / 2 % 6
                                    : how % (SC_RANK_MAX + 1);
    uint8_t dtype = like && how % 4 ? like->dtype : any_dtype(s);
    sc_tensor *t = new_tensor(s, dtype, rank);
    int64_t numel = 1;
    for (uint32_t d = 0; d < rank; d++) {
        uint8_t b = next_byte(&s->in);
        t->sizes[d] = like && d < like->rank && b < 120 ? like->sizes[d] : b % 9;
        if (b >= 250)
            t->sizes[d] = next_byte(&s->in);  // of lengths some algorithms ask for factors
        if (t->sizes[d] > 1 && numel * t->sizes[d] > NUMEL_MAX) t->sizes[d] = 1;
        numel *= t->sizes[d] ? t->sizes[d] : 1;
    }
    how = next_byte(&s->in);
    set_order(s, t, how);
    sc_rt_tensor_set_strides(t);
    t->capacity_bytes = sc_rt_tensor_bytes(t);
    s->bytes += t->capacity_bytes;
    give_memory(s, t, how);
    fill(s, t, next_byte(&s->in));
    t->is_constant = how % 7 == 1;
    if (t->is_constant) {
        s->blocks[s->count - 1].before = sc_arena_alloc(s->arena, (size_t)t->capacity_bytes + 1);
        memcpy(s->blocks[s->count - 1].before, t->data, (size_t)t->capacity_bytes);
        t->is_dynamic = false;
    }
    if (!like) s->first = t;
    sc_evalue *value = sc_new(s->arena, sc_evalue);
    *value = (sc_evalue){.tag = SC_EVALUE_TENSOR, .tensor = t};
    return value;
}

// --- Arguments -----------------------------------------------------------------------------------

static sc_evalue *scalar(source *s, sc_param_type type) {
    static const char *const texts[] = {"none", "floor", "trunc", "mean", "sum", "prod",
                                        "amax", "amin",  "tanh",  "left", "x"};
    sc_evalue *value = sc_new(s->arena, sc_evalue);
    switch (type) {
    case SC_PARAM_TENSOR: return tensor_value(s);
    case SC_PARAM_INT: *value = (sc_evalue){.tag = SC_EVALUE_INT, .i = number(s)}; break;
    case SC_PARAM_BOOL:
        *value = (sc_evalue){.tag = SC_EVALUE_BOOL, .b = next_byte(&s->in) & 1};
        break;
    case SC_PARAM_FLOAT: *value = (sc_evalue){.tag = SC_EVALUE_DOUBLE, .d = real(s)}; break;
    case SC_PARAM_SCALAR:
        switch (next_byte(&s->in) % 3) {
        case 0: *value = (sc_evalue){.tag = SC_EVALUE_INT, .i = number(s)}; break;
        case 1: *value = (sc_evalue){.tag = SC_EVALUE_BOOL, .b = next_byte(&s->in) & 1}; break;
        default: *value = (sc_evalue){.tag = SC_EVALUE_DOUBLE, .d = real(s)};
        }
        break;
    case SC_PARAM_STR:
        *value = (sc_evalue){.tag = SC_EVALUE_STRING,
                             .str = sc_str_from(texts[next_byte(&s->in) % SC_COUNT_OF(texts)])};
        break;
    default: *value = (sc_evalue){.tag = SC_EVALUE_INT, .i = next_byte(&s->in) % 20};
    }
    return value;
}

static sc_evalue *list(source *s, const sc_param *param, uint8_t how) {
    uint32_t count = how > 250 ? 20 : how % 5;
    if (param->list_size && how % 3) count = (uint32_t)param->list_size;
    sc_evalue *value = sc_new(s->arena, sc_evalue);
    value->count = count;
    if (param->type == SC_PARAM_INT || param->type == SC_PARAM_TENSOR) {
        sc_evalue **items = sc_new_array(s->arena, sc_evalue *, count + 1);
        for (uint32_t i = 0; i < count && s->count < BLOCKS_MAX / 2; i++) {
            bool is_absent = param->item_is_optional && next_byte(&s->in) % 3 == 0;
            items[i] = is_absent ? NULL : scalar(s, param->type);
        }
        bool tensors = param->type == SC_PARAM_TENSOR;
        value->tag = !tensors                  ? SC_EVALUE_INT_LIST
                     : param->item_is_optional ? SC_EVALUE_OPTIONAL_TENSOR_LIST
                                               : SC_EVALUE_TENSOR_LIST;
        if (tensors)
            value->tensors = items;
        else
            value->ints = items;
    } else if (param->type == SC_PARAM_BOOL) {
        uint8_t *items = sc_new_array(s->arena, uint8_t, count + 1);
        for (uint32_t i = 0; i < count; i++) items[i] = next_byte(&s->in) & 1;
        value->tag = SC_EVALUE_BOOL_LIST;
        value->bools = items;
    } else {
        double *items = sc_new_array(s->arena, double, count + 1);
        for (uint32_t i = 0; i < count; i++) items[i] = real(s);
        value->tag = SC_EVALUE_DOUBLE_LIST;
        value->doubles = items;
    }
    return value;
}

static sc_evalue *argument(source *s, const sc_param *param) {
    uint8_t how = next_byte(&s->in);
    if (param->is_optional && how % 3 == 0) {
        sc_evalue *absent = sc_new(s->arena, sc_evalue);
        absent->tag = SC_EVALUE_NONE;
        return absent;
    }
    return param->is_list ? list(s, param, how) : scalar(s, param->type);
}

// --- Results -------------------------------------------------------------------------------------

// Lies where the first operand does, which the runtime allows, when that may be written.
static bool share_memory(source *s, sc_tensor *t) {
    block *b = s->count ? &s->blocks[0] : NULL;
    uint64_t bytes = b ? sc_max_u64(b->tensor->capacity_bytes, t->capacity_bytes) : 0;
    if (!b || b->tensor->is_constant || b->before || b->memory != b->tensor->data) return false;
    for (uint32_t i = 1; i < s->count; i++)
        if (s->blocks[i].tensor->data == b->tensor->data) return false;
    if (bytes) b->memory = realloc(b->memory, (size_t)bytes);
    SC_ASSERT(b->memory);
    b->tensor->data = t->data = b->memory;
    return true;
}

static sc_evalue *result_tensor(source *s, const sc_spec *spec, bool last) {
    uint8_t how = next_byte(&s->in);
    sc_tensor *t = new_tensor(s, spec->dtype, spec->rank);
    for (uint32_t d = 0; d < spec->rank; d++) t->sizes[d] = spec->sizes[d].value;
    set_order(s, t, how);
    sc_rt_tensor_set_strides(t);
    t->capacity_bytes = sc_rt_tensor_bytes(t);
    if (!last || how % 4 || !share_memory(s, t)) give_memory(s, t, how);
    sc_evalue *value = sc_new(s->arena, sc_evalue);
    *value = (sc_evalue){.tag = SC_EVALUE_TENSOR, .tensor = t};
    return value;
}

// Is there memory for results like these?
static bool is_small(source *s, const sc_infer *in) {
    uint64_t total = s->bytes;
    for (uint32_t i = 0; i < in->out_count; i++) {
        const sc_iout *out = &in->outs[i];
        uint64_t bytes = 0;
        if (out->kind == SC_IOUT_NONE) continue;
        if (out->kind != SC_IOUT_TENSOR || !sc_spec_bytes_max(&out->spec, &bytes) ||
            bytes > BYTES_MAX || !sc_add_u64(total, bytes, &total))
            return false;
    }
    return total <= BYTES_MAX && in->out_count < BLOCKS_MAX / 2;
}

static const sc_spec *spec_at(const sc_infer *in, uint32_t at) {
    static const sc_spec scalar_spec = {.dtype = SC_DTYPE_F32};
    return at < in->out_count && in->outs[at].kind == SC_IOUT_TENSOR ? &in->outs[at].spec
                                                                     : &scalar_spec;
}

static bool add_results(source *s, sc_kernel_call *call, sc_evalue **args) {
    sc_infer in;
    const sc_schema *schema = call->op->schema;
    if (sc_rt_call_infer(call, true, &in) != SC_OK || !is_small(s, &in)) return false;
    uint32_t outs = sc_op_out_count(call->op), at = 0;
    for (uint32_t i = 0; i < outs; i++) {
        if (!schema->returns[i].is_list) {
            args[call->arg_count++] = result_tensor(s, spec_at(&in, at++), i + 1 == outs);
            continue;
        }
        sc_evalue *value = sc_new(s->arena, sc_evalue);
        sc_evalue **items = sc_new_array(s->arena, sc_evalue *, in.out_count + 1);
        for (; at < in.out_count; at++)
            items[value->count++] = result_tensor(s, spec_at(&in, at), false);
        value->tag = SC_EVALUE_TENSOR_LIST;
        value->tensors = items;
        args[call->arg_count++] = value;
    }
    return true;
}

// Indices broadcast against each other: their work has no bound but their product.
static bool is_endless(const sc_evalue *arg) {
    int64_t product = 1;
    if (arg->tag != SC_EVALUE_OPTIONAL_TENSOR_LIST) return false;
    for (uint32_t i = 0; i < arg->count && product <= 1 << 9; i++)
        if (arg->tensors[i]) product *= 1 + arg->tensors[i]->tensor->numel;
    return product > 1 << 9;
}

// --- Running -------------------------------------------------------------------------------------

static void check_blocks(const source *s) {
    for (uint32_t i = 0; i < s->count; i++) {
        const sc_tensor *t = s->blocks[i].tensor;
        SC_ASSERT(t->numel >= 0 && sc_rt_tensor_bytes(t) <= t->capacity_bytes);
        if (s->blocks[i].before && t->capacity_bytes)
            SC_ASSERT(memcmp(s->blocks[i].before, t->data, (size_t)t->capacity_bytes) == 0);
    }
}

// Operands as they may be on a later run: within what they were at load.
static void shrink(source *s, uint32_t operands) {
    for (uint32_t i = 0; i < operands; i++) {
        sc_tensor *t = s->blocks[i].tensor;
        for (uint32_t d = 0; d < t->rank && t->is_dynamic; d++) {
            uint8_t b = next_byte(&s->in);
            if (b % 4 == 0 && t->sizes[d] > 0) t->sizes[d] -= 1 + b / 4 % t->sizes[d];
        }
        sc_rt_tensor_set_strides(t);
    }
}

// Scratch of a call that is looked at on every run is asked for with the sizes that the file
// declares, which may be any.
static void declare_wildly(source *s, uint32_t results) {
    for (uint32_t i = results; i < s->count; i++) {
        sc_tensor *t = s->blocks[i].tensor;
        for (uint32_t d = 0; d < t->rank; d++)
            t->sizes[d] = sc_min_i64(next_byte(&s->in) % 9, t->sizes[d]);
        sc_rt_tensor_set_strides(t);
    }
}

static void run_repeatedly(source *s, sc_kernel_call *call, const sc_kernel *kernel,
                           uint32_t operands, bool wild) {
    sc_ctx *ctx = s->ctx;
    call->scratch = malloc((size_t)call->scratch_bytes);
    SC_ASSERT(call->scratch);
    for (int i = 0; i < REPEATS; i++) {
        uint32_t errors = ctx->error_count;
        if (i && next_byte(&s->in) == 0) break;
        if (i) shrink(s, operands);
        if ((i || wild) && sc_rt_call_shape(ctx, call, false) != SC_OK) continue;
        if (sc_rt_call_write_fault(call) || sc_rt_call_is_empty(call)) continue;
        call->seed = next_byte(&s->in);
        sc_status status = kernel->run(call);
        SC_ASSERT((status == SC_OK) == (ctx->error_count == errors));
        SC_ASSERT(wild || status != SC_ERR_INTERNAL);
        check_blocks(s);
    }
    free(call->scratch);
}

static void pack(const sc_kernel *kernel, sc_kernel_call *call, sc_packing *packing) {
    if (!kernel->packs || !kernel->packs(call, packing) ||
        !call->args[packing->arg]->tensor->is_constant || packing->bytes > 16 * BYTES_MAX)
        return;
    packing->data = aligned_alloc(64, (size_t)sc_align_up(packing->bytes + 1, 64));
    SC_ASSERT(packing->data);
    kernel->pack(call, packing);
    call->packed = packing;
}

static void run(source *s, sc_kernel_call *call, const sc_kernel *kernel, uint32_t operands) {
    sc_packing packing = {0};
    sc_ctx *ctx = s->ctx;
    const bool wild = next_byte(&s->in) % 8 == 1;
    if (sc_rt_call_check(ctx, call) != SC_OK) return;
    if (wild)
        declare_wildly(s, operands);
    else if (sc_rt_call_shape(ctx, call, true) != SC_OK)
        return;
    pack(kernel, call, &packing);
    call->scratch_bytes = kernel->scratch ? kernel->scratch(call) : 0;
    if (call->scratch_bytes <= 16 * BYTES_MAX) run_repeatedly(s, call, kernel, operands, wild);
    free(packing.data);
}

static bool has_kernel(const sc_op *op) { return sc_kernel_get((sc_op_id)op->id) != NULL; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_evalue *args[ARGS_MAX];
    if (size < 3 || sc_ops_init() != SC_OK) return 0;
    sc_arena_init(&arena);
    sc_arena_init(&scratch);
    sc_ctx_init(&ctx, &arena, &scratch);
    source *s = sc_new(&arena, source);
    *s = (source){.in = {.data = data, .size = size}, .arena = &arena, .ctx = &ctx};
    const sc_op *op = next_op(&s->in, has_kernel);
    sc_kernel_call call = {
        .ctx = &ctx, .op = op, .kernel = sc_kernel_get((sc_op_id)op->id), .args = args};
    for (uint32_t i = 0; i < op->schema->param_count; i++)
        if (sc_op_out_keeps(op, i)) args[call.arg_count++] = argument(s, &op->schema->params[i]);
    uint32_t operands = s->count;
    for (uint32_t i = 0; i < call.arg_count; i++)
        if (is_endless(args[i])) size = 0;
    if (size && add_results(s, &call, args)) run(s, &call, call.kernel, operands);
    for (uint32_t i = 0; i < s->count; i++) free(s->blocks[i].memory);
    sc_arena_deinit(&arena);
    sc_arena_deinit(&scratch);
    return 0;
}
