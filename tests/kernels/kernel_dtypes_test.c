// Do kernels take the dtypes that the kernel column of the table says (src/ops/takes.c)? Every
// kernel is called with every dtype in the place of every tensor of its cases (kernel_case.h) and
// of the dtype that it is asked for: one place at a time, all that were equal at once, and two
// places in every combination. Dtypes that the table refuses must fail, and those that it takes
// must run.
#include "base/arena.h"
#include "harness.h"
#include "kernels/kernel_case.h"
#include "ops/infer.h"
#include "rt/run/shape.h"
#include "rt/run/tensor.h"

static const uint8_t dtypes[] = {
#define DTYPE(id, ...) SC_DTYPE_##id,
#include "core/dtype.def"
#undef DTYPE
};

enum { DTYPES = SC_COUNT_OF(dtypes), PLACES_MAX = 10, LOST = UINT16_MAX };

// Places of a dtype in a call: a tensor, or a parameter that names one.
typedef struct place {
    uint16_t param;                   // of the schema; LOST: what the result is asked to be
    uint16_t item;                    // of a list
    uint8_t own;                      // in the case, an index into `dtypes`; DTYPES: not given
    bool is_position;                 // an index, or a mask of other sizes
    sc_evalue *variants[DTYPES + 1];  // by the same index; the last is NULL
} place;

typedef struct walk {
    sc_arena arena, scratch;
    sc_ctx ctx;
    const kernel_case *t;
    place places[PLACES_MAX];
    uint32_t place_count;
    sc_evalue *inputs[KERNEL_CASE_ITEMS_MAX];    // as the case has them, but for the places
    sc_evalue **items[KERNEL_CASE_ITEMS_MAX];    // of those that are lists
    sc_evalue *args[2 * KERNEL_CASE_ITEMS_MAX];  // of the call
    uint8_t places_seen[SC_OP_COUNT];            // of the case whose pairs have been walked
    uint32_t taken[SC_OP_COUNT], refused;
} walk;

// --- Places --------------------------------------------------------------------------------------

static uint8_t index_of(int64_t dtype) {
    uint8_t i = 0;
    while (i < DTYPES && dtypes[i] != dtype) i++;
    return i;
}

static sc_evalue *new_value(sc_arena *arena, uint8_t tag) {
    sc_evalue *value = sc_new(arena, sc_evalue);
    *value = (sc_evalue){.tag = tag};
    return value;
}

// The same numbers in another dtype, as far as it has them; float8 holds zeros.
static sc_evalue *converted(sc_arena *arena, const sc_tensor *from, uint8_t dtype) {
    sc_evalue *value = new_value(arena, SC_EVALUE_TENSOR);
    sc_tensor *to = value->tensor = sc_new(arena, sc_tensor), source = *from;
    *to = *from;
    to->dtype = dtype;
    to->capacity_bytes = (uint64_t)from->numel * sc_dtype_bytes((sc_dtype)dtype);
    to->data = sc_arena_alloc(arena, (size_t)to->capacity_bytes + 1);
    memset(to->data, 0, (size_t)to->capacity_bytes + 1);
    sc_tensor target = *to;
    source.dtype = (uint8_t)sc_dtype_to_real((sc_dtype)from->dtype);
    target.dtype = (uint8_t)sc_dtype_to_real((sc_dtype)dtype);
    if (sc_dtype_category((sc_dtype)source.dtype) == SC_CATEGORY_FLOAT8 ||
        sc_dtype_category((sc_dtype)target.dtype) == SC_CATEGORY_FLOAT8)
        return value;
    const int64_t from_parts = source.dtype == from->dtype ? 1 : 2;
    const int64_t to_parts = target.dtype == dtype ? 1 : 2;
    for (int64_t i = 0; i < from->numel; i++)
        sc_tensor_put_real(&target, i * to_parts, sc_tensor_real(&source, i * from_parts));
    return value;
}

// NULL and a failed test beyond PLACES_MAX.
static place *add_place(walk *w, uint16_t param, uint16_t item, const sc_evalue *value) {
    if (w->place_count == PLACES_MAX) {
        FAIL("%s: more than %d places have dtypes", w->t->name, PLACES_MAX);
        return NULL;
    }
    place *p = &w->places[w->place_count++];
    const bool is_tensor = value->tag == SC_EVALUE_TENSOR;
    *p = (place){.param = param, .item = item, .own = DTYPES};
    if (is_tensor)
        p->own = index_of(value->tensor->dtype);
    else if (value->tag == SC_EVALUE_INT)
        p->own = index_of(value->i);
    for (uint32_t k = 0; k < DTYPES; k++) {
        p->variants[k] = is_tensor ? converted(&w->arena, value->tensor, dtypes[k])
                                   : new_value(&w->arena, SC_EVALUE_INT);
        if (!is_tensor) p->variants[k]->i = dtypes[k];
    }
    p->variants[DTYPES] = new_value(&w->arena, SC_EVALUE_NONE);
    return p;
}

// Does the operator have a dtype parameter that its out form lacks?
static bool loses_dtype(const sc_op *op) {
    for (uint32_t i = 0; i < op->schema->param_count; i++)
        if (op->schema->params[i].type == SC_PARAM_DTYPE && !sc_op_out_keeps(op, i)) return true;
    return false;
}

static void add_items(walk *w, uint16_t param, const sc_evalue *list) {
    w->inputs[param] = new_value(&w->arena, list->tag);
    *w->inputs[param] = *list;
    w->items[param] = sc_new_array(&w->arena, sc_evalue *, list->count + 1);
    w->inputs[param]->tensors = w->items[param];
    for (uint32_t k = 0; k < list->count; k++) {
        w->items[param][k] = list->tensors[k];
        if (!list->tensors[k]) continue;
        place *p = add_place(w, param, (uint16_t)k, list->tensors[k]);
        if (p)
            p->is_position = list->tag == SC_EVALUE_OPTIONAL_TENSOR_LIST ||
                             w->t->op->schema->params[param].item_is_optional;
    }
}

static void find_places(walk *w) {
    const sc_op *op = w->t->op;
    w->place_count = 0;
    for (uint16_t i = 0; i < w->t->input_count; i++) {
        const sc_evalue *value = w->inputs[i] = w->t->inputs[i];
        w->items[i] = NULL;
        const bool names_dtype =
            op->schema->params[i].type == SC_PARAM_DTYPE && sc_op_out_keeps(op, i);
        if (value->tag == SC_EVALUE_TENSOR_LIST || value->tag == SC_EVALUE_OPTIONAL_TENSOR_LIST)
            add_items(w, i, value);
        else if (value->tag == SC_EVALUE_TENSOR || names_dtype)
            add_place(w, i, 0, value);
    }
    if (!loses_dtype(op)) return;
    const sc_evalue own = {.tag = SC_EVALUE_INT, .i = w->t->expected[0].tensor.dtype};
    add_place(w, LOST, 0, &own);
}

// --- Results -------------------------------------------------------------------------------------

static sc_evalue *result_of(sc_arena *arena, const sc_spec *spec) {
    sc_evalue *value = new_value(arena, SC_EVALUE_TENSOR);
    sc_tensor *t = value->tensor = sc_new(arena, sc_tensor);
    *t = (sc_tensor){.dtype = spec->dtype, .rank = spec->rank, .is_dynamic = true};
    t->sizes = sc_new_array(arena, int64_t, spec->rank + 1);
    t->strides = sc_new_array(arena, int64_t, spec->rank + 1);
    t->dim_order = sc_new_array(arena, uint8_t, spec->rank + 1);
    for (uint32_t d = 0; d < spec->rank; d++) {
        t->sizes[d] = spec->sizes[d].value;
        t->dim_order[d] = (uint8_t)d;
    }
    sc_rt_tensor_set_strides(t);
    t->capacity_bytes = sc_rt_tensor_bytes(t);
    t->data = sc_arena_alloc(arena, (size_t)t->capacity_bytes + 1);
    return value;
}

// Appends what the shape rule says; false when it refuses the call.
static bool add_results(walk *w, sc_kernel_call *call, sc_infer *in, uint8_t lost) {
    static const sc_spec scalar = {.dtype = SC_DTYPE_F32};
    const sc_spec asked = {.dtype = lost};
    const sc_schema *schema = call->op->schema;
    const uint32_t kept = call->arg_count;
    if (loses_dtype(call->op)) w->args[call->arg_count++] = result_of(&w->scratch, &asked);
    const sc_status status = sc_rt_call_infer(call, false, in);
    call->arg_count = kept;
    if (status != SC_OK) return false;
    for (uint32_t i = 0, at = 0; i < sc_op_out_count(call->op); i++) {
        if (!schema->returns[i].is_list) {
            const sc_iout *out = at < in->out_count ? &in->outs[at++] : NULL;
            w->args[call->arg_count++] =
                result_of(&w->scratch, out && out->kind == SC_IOUT_TENSOR ? &out->spec : &scalar);
            continue;
        }
        sc_evalue *list = new_value(&w->scratch, SC_EVALUE_TENSOR_LIST);
        sc_evalue **items = sc_new_array(&w->scratch, sc_evalue *, in->out_count + 1);
        for (; at < in->out_count; at++)
            items[list->count++] = result_of(&w->scratch, &in->outs[at].spec);
        list->tensors = items;
        w->args[call->arg_count++] = list;
    }
    return true;
}

// --- Calls ---------------------------------------------------------------------------------------

static const char *describe(const walk *w, const uint8_t *chosen) {
    const char *text = w->t->name;
    for (uint32_t i = 0; i < w->place_count; i++)
        text = test_format("%s %s", text,
                           chosen[i] < DTYPES ? sc_dtype_short((sc_dtype)dtypes[chosen[i]]) : "-");
    return text;
}

// No hint says to convert complex numbers with .to(), which drops their imaginary parts.
static void check_hint(const walk *w, const sc_infer *in, const uint8_t *chosen, const char *hint) {
    for (uint32_t i = 0; i < in->arg_count; i++) {
        const sc_iarg *arg = &in->args[i];
        const bool is_list = arg->kind == SC_IARG_LIST;
        for (uint32_t k = 0; k < (is_list ? arg->count : 1); k++) {
            const sc_iarg *item = is_list ? &arg->items[k] : arg;
            if (item->kind == SC_IARG_TENSOR && strstr(hint, ".to(") &&
                sc_dtype_category((sc_dtype)item->tensor->dtype) == SC_CATEGORY_COMPLEX)
                FAIL("%s: says %s", describe(w, chosen), hint);
        }
    }
}

// The kernel itself is called, past the question that the runtime asks first.
static void run(walk *w, sc_kernel_call *call, const sc_infer *in, const uint8_t *chosen) {
    const sc_kernel *kernel = sc_kernel_get((sc_op_id)call->op->id);
    const char *what = NULL, *hint = NULL;
    const bool refused = sc_infer_lacks_kernel(in, &what, &hint);
    call->kernel = kernel;
    call->scratch_bytes = kernel->scratch ? kernel->scratch(call) : 0;
    uintptr_t scratch = (uintptr_t)sc_arena_alloc(&w->scratch, (size_t)call->scratch_bytes + 64);
    call->scratch = (void *)((scratch + 63) & ~(uintptr_t)63);
    const sc_status status = kernel->run(call);
    // Numbers that do not suit a dtype, a quantization scale of 0 or a degree below 0 for two, say
    // nothing about it.
    const bool unsuited = status == SC_ERR_ARGUMENT || status == SC_ERR_INDEX ||
                          status == SC_ERR_NUMERIC || status == SC_ERR_LIMIT;
    w->refused += refused;
    if (refused) check_hint(w, in, chosen, hint);
    if (status == SC_ERR_DTYPE) check_hint(w, in, chosen, w->ctx.diags.data[0].hint.data);
    w->taken[call->op->id] += status == SC_OK;
    if (refused && status == SC_OK)
        FAIL("%s: there is a kernel, but the table says %s", describe(w, chosen), what);
    else if (!refused && status != SC_OK && !unsuited)
        FAIL("%s: the table takes it, but the kernel says %s", describe(w, chosen),
             w->ctx.diags.data[0].message.data);
}

static void probe(walk *w, const uint8_t *chosen) {
    const kernel_case *t = w->t;
    sc_mark mark = sc_arena_mark(&w->scratch);
    uint8_t lost = SC_DTYPE_NONE;
    for (uint32_t i = 0; i < w->place_count; i++) {
        const place *p = &w->places[i];
        sc_evalue *value = p->variants[chosen[i]];
        // A mask has the sizes of what it picks from, which indices have not.
        const bool is_mask = chosen[i] < DTYPES && (dtypes[chosen[i]] == SC_DTYPE_BOOL ||
                                                    dtypes[chosen[i]] == SC_DTYPE_U8);
        if (p->is_position && is_mask && chosen[i] != p->own) return;
        if (p->param == LOST)
            lost = dtypes[chosen[i]];
        else if (w->items[p->param])
            w->items[p->param][p->item] = value;
        else
            w->inputs[p->param] = value;
    }
    sc_kernel_call call = {.ctx = &w->ctx, .op = t->op, .args = w->args, .seed = 1};
    for (uint32_t i = 0; i < t->input_count; i++)
        if (sc_op_out_keeps(t->op, i)) w->args[call.arg_count++] = w->inputs[i];
    sc_infer in;
    sc_diags_clear(&w->ctx);
    if (add_results(w, &call, &in, lost) && !sc_rt_call_write_fault(&call) &&
        !sc_rt_call_is_empty(&call))
        run(w, &call, &in, chosen);
    sc_arena_rewind(&w->scratch, mark);
}

// One place, and all that were equal to it.
static void walk_place(walk *w, const uint8_t *own, uint32_t at) {
    for (uint8_t k = 0; k < DTYPES; k++) {
        uint8_t chosen[PLACES_MAX];
        bool is_shared = false;
        memcpy(chosen, own, sizeof chosen);
        chosen[at] = k;
        probe(w, chosen);
        for (uint32_t j = 0; j < PLACES_MAX && j < w->place_count; j++) {
            if (j == at || own[j] != own[at]) continue;
            is_shared = true;
            chosen[j] = k;
        }
        if (is_shared) probe(w, chosen);
    }
}

static void walk_pair(walk *w, const uint8_t *own, uint32_t first, uint32_t second) {
    uint8_t chosen[PLACES_MAX];
    memcpy(chosen, own, sizeof chosen);
    for (uint32_t k = 0; k < DTYPES * DTYPES; k++) {
        chosen[first] = (uint8_t)(k % DTYPES);
        chosen[second] = (uint8_t)(k / DTYPES);
        probe(w, chosen);
    }
}

static void walk_case(void *user, const kernel_case *t) {
    walk *w = user;
    uint8_t own[PLACES_MAX] = {0};
    if (!t->op || !sc_kernel_get((sc_op_id)t->op->id) || t->fails) return;
    sc_mark mark = sc_arena_mark(&w->arena);
    w->t = t;
    find_places(w);
    for (uint32_t i = 0; i < w->place_count; i++) own[i] = w->places[i].own;
    if (w->place_count == 0) probe(w, own);
    for (uint32_t i = 0; i < w->place_count; i++) walk_place(w, own, i);
    if (w->place_count > w->places_seen[t->op->id]) {
        w->places_seen[t->op->id] = (uint8_t)w->place_count;
        for (uint32_t i = 0; i < w->place_count; i++)
            for (uint32_t j = 0; j < i; j++) walk_pair(w, own, i, j);
    }
    sc_arena_rewind(&w->arena, mark);
}

TEST(kernels_take_the_dtypes_that_the_table_says) {
    walk *w = test_alloc(sizeof *w);
    memset(w, 0, sizeof *w);
    sc_arena_init(&w->arena);
    sc_arena_init(&w->scratch);
    sc_ctx_init(&w->ctx, &w->arena, &w->scratch);
    if (CHECK_OK(sc_ops_init())) kernel_cases_visit(walk_case, w);
    for (uint32_t id = 1; id < SC_OP_COUNT; id++)
        if (sc_kernel_get((sc_op_id)id) && w->taken[id] == 0)
            FAIL("%s has no case that runs", sc_op_get((sc_op_id)id)->name);
    CHECK(w->refused > 1000);
    sc_arena_deinit(&w->scratch);
    sc_arena_deinit(&w->arena);
}
