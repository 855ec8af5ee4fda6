// The operator table in memory: rows, schemas, lookup by the names that .pt2 and .pte files use.
// Owns the process-wide memory of the core: made from constants, the same every time. Formulas that
// are parsed once live in it, too. Only the
// names are there from the start. A schema is parsed when its operator is first handed out, with
// those of the operators that this one points at: a program has some dozens of the thousand, and
// parsing all would be an eighth of the work of lowering a small one. In-place twins are made
// likewise from their functional row, and then stay.
#include "ops/op.h"

#include "base/map.h"
#include "base/print.h"
#include "ops/kept.h"
#include "ops/takes.h"

#define INFER(rule) extern sc_status sc_infer_##rule(struct sc_infer *);
#define BY_EXPANSION
#define OP(id, schema, out, infer, ...) infer
#include "ops/ops.def"
#undef OP
#undef BY_EXPANSION
#undef INFER

typedef struct op_row {
    const char *out;
    sc_infer_fn infer;
    const char *takes;
    sc_op_traits traits;
    uint8_t family;
} op_row;

#define INFER(rule)         sc_infer_##rule
#define BY_EXPANSION        NULL
#define KERNEL(name, takes) takes
#define POINTWISE           KERNEL
#define PRIM(name)          ""
#define NO_KERNEL           NULL
static const op_row rows[SC_OP_COUNT] = {
#define OP(id, schema, out, infer, expand, kernel, ...) \
    SC_KEPT(id, [SC_OP_##id] = {out, infer, kernel, __VA_ARGS__, FAMILY}, )
#include "ops/ops.def"
#undef OP
};

// The schemas of all rows, one after the other; empty ones are left out. A column of pointers to
// them would not compress.
static const char schema_texts[] =
#define OP(id, schema, ...) SC_KEPT(id, schema) "\0"
#include "ops/ops.def"
#undef OP
    ;

static struct {
    bool ready;
    sc_arena arena;
    sc_op ops[SC_OP_COUNT];
    const char *texts[SC_OP_COUNT];  // in schema_texts; NULL: left out
    sc_schema schemas[SC_OP_COUNT];
    sc_map by_name;
    sc_map by_out;
} table;

// --- Building ------------------------------------------------------------------------------------

// Ends the process: the first test that runs finds such a row, or the one that parses all rows.
static void defect(const char *name, const char *what) {
    char text[256];
    sc_print(text, sizeof text, "operator table: %s %s", name, what);
    sc_panic(__FILE__, __LINE__, text);
}

static sc_str base_of(sc_str name) {
    ptrdiff_t dot = sc_str_find(name, '.');
    return dot < 0 ? name : sc_str_slice(name, 0, (size_t)dot);
}

static const char *full_out_name(sc_str name, const char *out) {
    if (!out || sc_str_find(sc_str_from(out), ':') >= 0) return out;
    sc_str base = base_of(name);
    sc_sb sb;
    sc_sb_init(&sb, &table.arena);
    sc_sb_add(&sb, base);
    sc_sb_add_char(&sb, '.');
    sc_sb_add_text(&sb, out);
    return sc_sb_terminate(&sb);
}

static bool has_param(const sc_schema *schema, const char *name) {
    for (uint32_t i = 0; i < schema->param_count; i++)
        if (sc_str_is(schema->params[i].name, name)) return true;
    return false;
}

// Factory ops lose parameters on the way to a .pte: with an out tensor there is no choice. Only ops
// that place a tensor somewhere have a layout.
static void mark_lost(sc_schema *schema) {
    static const char *const lost[] = {"dtype", "layout", "device", "pin_memory"};
    if (!has_param(schema, "layout")) return;
    for (uint32_t i = 0; i < schema->param_count; i++) {
        for (size_t k = 0; k < SC_COUNT_OF(lost); k++)
            schema->params[i].is_lost |= sc_str_is(schema->params[i].name, lost[k]);
    }
}

static void add_row(uint16_t id, sc_str text) {
    const op_row *row = &rows[id];
    if (!text.size) return;
    sc_op *op = &table.ops[id];
    const ptrdiff_t open = sc_str_find(text, '(');
    SC_ASSERT(open > 0);
    const sc_str name = sc_str_slice(text, 0, (size_t)open);
    *op = (sc_op){.id = id,
                  .family = row->family,
                  .traits = row->traits | (row->takes ? SC_RUNS : 0),
                  .infer = row->infer};
    op->name = sc_str_dup(&table.arena, name);
    op->out_name = full_out_name(name, row->out);
    table.texts[id] = text.data;
    if (!sc_map_add(&table.by_name, name, op)) defect(op->name, "has two rows");
    if (op->out_name) sc_map_add(&table.by_out, sc_str_from(op->out_name), op);
}

static void join_twins(sc_op *view, sc_arena *scratch) {
    sc_str name = sc_str_from(view->name), base = base_of(name);
    sc_str overload = sc_str_slice(name, base.size, name.size);
    sc_op *copy = sc_map_get(&table.by_name, sc_str_format(scratch, SC_STR_FMT "_copy" SC_STR_FMT,
                                                           SC_STR_ARG(base), SC_STR_ARG(overload)));
    if (!copy) return;
    view->copy = copy;
    copy->view = view;
}

// "aten::add_.Tensor" -> "aten::add.Tensor", "aten::__iand__.Tensor" -> "aten::__and__.Tensor";
// empty when the name is not that of an in-place op.
static sc_str functional_name(sc_arena *arena, sc_str name) {
    sc_str base = base_of(name);
    ptrdiff_t colon = sc_str_find_last(base, ':');
    if (colon < 0 || base.size < 3 || base.data[base.size - 1] != '_') return (sc_str){NULL, 0};
    sc_str space = sc_str_slice(base, 0, (size_t)colon + 1);
    sc_str stem = sc_str_slice(base, (size_t)colon + 1, base.size);
    sc_str overload = sc_str_slice(name, base.size, name.size);
    if (sc_str_starts_with(stem, "__i") && sc_str_ends_with(stem, "__") && stem.size > 5)
        return sc_str_format(arena, SC_STR_FMT "__" SC_STR_FMT SC_STR_FMT, SC_STR_ARG(space),
                             SC_STR_ARG(sc_str_slice(stem, 3, stem.size)), SC_STR_ARG(overload));
    if (sc_str_starts_with(stem, "__")) return (sc_str){NULL, 0};
    return sc_str_format(arena, SC_STR_FMT SC_STR_FMT SC_STR_FMT, SC_STR_ARG(space),
                         SC_STR_ARG(sc_str_slice(stem, 0, stem.size - 1)), SC_STR_ARG(overload));
}

static sc_op *functional_of(sc_arena *scratch, sc_str name) {
    // In-place operators whose overload is called otherwise.
    static const struct {
        const char *name;
        sc_op_id functional;
    } others[] = {
        {"aten::transpose_", SC_OP_transpose_int},
        {"aten::pow_.Scalar", SC_OP_pow_Tensor_Scalar},
        {"aten::pow_.Tensor", SC_OP_pow_Tensor_Tensor},
        {"aten::float_power_.Scalar", SC_OP_float_power_Tensor_Scalar},
        {"aten::float_power_.Tensor", SC_OP_float_power_Tensor_Tensor},
        {"aten::floor_divide_.Tensor", SC_OP_floor_divide},
    };
    for (size_t i = 0; i < SC_COUNT_OF(others); i++)
        if (sc_str_is(name, others[i].name))
            return table.texts[others[i].functional] ? &table.ops[others[i].functional] : NULL;
    return sc_map_get(&table.by_name, functional_name(scratch, name));
}

static void join_writer(sc_op *op, sc_arena *scratch) {
    sc_op *functional = functional_of(scratch, sc_str_from(op->name));
    op->functional = functional;
    if (functional && sc_op_has(op, SC_RUNS)) functional->writer = op;
}

sc_status sc_ops_init(void) {
    if (table.ready) return SC_OK;
    sc_arena scratch;
    sc_arena_init(&table.arena);
    sc_arena_init(&scratch);
    sc_map_init(&table.by_name, &table.arena);
    sc_map_init(&table.by_out, &table.arena);
    table.ops[SC_OP_FOREIGN] = (sc_op){.id = SC_OP_FOREIGN, .traits = SC_FOREIGN, .name = "?"};
    sc_str text = sc_str_from(schema_texts);
    for (uint32_t id = 1; id < SC_OP_COUNT; id++) {
        add_row((uint16_t)id, text);
        text = sc_str_from(text.data + text.size + 1);
    }
    for (uint32_t id = 1; id < SC_OP_COUNT; id++) {
        sc_op *op = &table.ops[id];
        if (sc_op_has(op, SC_VIEW)) join_twins(op, &scratch);
        if (sc_op_has(op, SC_MUTATES)) join_writer(op, &scratch);
    }
    sc_arena_deinit(&scratch);
    table.ready = true;
    return SC_OK;
}

sc_arena *sc_ops_arena(void) {
    SC_ASSERT(table.ready);
    return &table.arena;
}

bool sc_ops_adopt(sc_op *op) {
    SC_ASSERT(table.ready && sc_op_has(op, SC_OWN));
    const sc_str name = sc_str_from(op->name), out = sc_str_from(op->out_name);
    if (sc_map_find(&table.by_name, name) || sc_map_find(&table.by_out, out)) return false;
    sc_map_add(&table.by_name, name, op);
    sc_map_add(&table.by_out, out, op);
    return true;
}

bool sc_op_gives_truth(const sc_op *op) { return op->infer == sc_infer_compare; }

// --- Handing out ---------------------------------------------------------------------------------

static void parse_takes(sc_op *op) {
    const char *text = rows[op->id].takes;
    sc_takes *takes = sc_new(&table.arena, sc_takes);
    if (!sc_takes_parse(text, takes)) defect(op->name, "takes what is no dtype");
    op->takes = takes;
}

static void parse_schema(sc_op *op) {
    sc_arena scratch;
    sc_ctx ctx;
    sc_arena_init(&scratch);
    sc_ctx_init(&ctx, &scratch, &scratch);
    sc_schema *schema = &table.schemas[op->id];
    if (sc_schema_parse(&ctx, &table.arena, sc_str_from(table.texts[op->id]), schema) != SC_OK)
        defect(op->name, ctx.diags.count ? sc_vec_last(&ctx.diags).message.data : "?");
    mark_lost(schema);
    op->schema = schema;
    sc_arena_deinit(&scratch);
}

// Parses an operator's row, and the rows of its twins and its functional form. Twins point at each
// other and no further, and so do a functional form and its writer, which are no twins.
static const sc_op *handed_out(const sc_op *op) {
    if (!op || op->schema || op->id == SC_OP_FOREIGN) return op;
    if (!table.texts[op->id]) return NULL;
    parse_schema(&table.ops[op->id]);
    if (rows[op->id].takes) parse_takes(&table.ops[op->id]);
    handed_out(op->functional);
    handed_out(op->writer);
    handed_out(op->copy);
    handed_out(op->view);
    return op;
}

bool sc_ops_are_whole(void) {
#ifdef SC_OPS_KEPT
    return false;
#else
    return true;
#endif
}

const sc_op *sc_op_get(sc_op_id id) {
    SC_ASSERT(table.ready && (unsigned)id < SC_OP_COUNT);
    return handed_out(&table.ops[id]);
}

// --- Lookup --------------------------------------------------------------------------------------

static sc_str without_default(sc_str name) {
    return sc_str_ends_with(name, ".default") ? sc_str_slice(name, 0, name.size - 8) : name;
}

bool sc_op_may_return_alias(const sc_op *op) {
    for (uint32_t i = 0; op->schema && i < op->schema->param_count; i++)
        if (op->schema->params[i].is_aliased) return true;
    return false;
}

static const sc_op *make_inplace(sc_str name, const sc_op *functional) {
    const sc_schema *from = functional->schema;
    sc_schema *schema = sc_new(&table.arena, sc_schema);
    *schema = *from;
    schema->name = sc_str_copy(&table.arena, name);
    schema->params = sc_new_array(&table.arena, sc_param, from->param_count);
    memcpy(schema->params, from->params, from->param_count * sizeof(sc_param));
    schema->params[0].name = SC_STR("self");  // where the functional one says "input"
    schema->params[0].is_written = true;
    schema->params[0].is_aliased = false;
    sc_op *op = sc_new(&table.arena, sc_op);
    *op = *functional;
    op->traits =
        (functional->traits & ~(SC_CORE | SC_VIEW | SC_COMPOSITE)) | SC_INPLACE | SC_MUTATES;
    op->name = schema->name.data;
    op->out_name = NULL;
    op->schema = schema;
    op->functional = functional;
    op->copy = op->view = op->writer = NULL;
    sc_map_add(&table.by_name, schema->name, op);
    return op;
}

static const sc_op *find_inplace(sc_str name) {
    sc_mark mark = sc_arena_mark(&table.arena);
    const sc_op *functional = functional_of(&table.arena, name);
    sc_arena_rewind(&table.arena, mark);
    functional = handed_out(functional);
    const sc_schema *schema = functional ? functional->schema : NULL;
    if (!schema || sc_op_has(functional, SC_OWN) || schema->param_count == 0 ||
        schema->return_count != 1 || schema->returns[0].type != SC_PARAM_TENSOR ||
        schema->returns[0].is_list)
        return NULL;
    const sc_param *self = &schema->params[0];
    if (self->type != SC_PARAM_TENSOR || self->is_list || self->is_optional || self->is_written)
        return NULL;
    return make_inplace(name, functional);
}

const sc_op *sc_op_find(sc_str name) {
    SC_ASSERT(table.ready);
    name = without_default(name);
    if (!name.size) return NULL;
    const sc_op *op = sc_map_get(&table.by_name, name);
    return op ? handed_out(op) : find_inplace(name);
}

const sc_op *sc_op_find_python(sc_str name) {
    char full[160];
    const ptrdiff_t dot = sc_str_find(name, '.');
    if (sc_str_find(name, ':') >= 0 || dot < 0 || name.size + 1 > sizeof full)
        return sc_op_find(name);
    const size_t at = (size_t)dot;
    memcpy(full, name.data, at);
    memcpy(full + at, "::", 2);
    memcpy(full + at + 2, name.data + at + 1, name.size - at - 1);
    return sc_op_find((sc_str){full, name.size + 1});
}

bool sc_op_are_overloads(const sc_op *a, const sc_op *b) {
    const size_t size = strcspn(a->name, ".");
    return size == strcspn(b->name, ".") && memcmp(a->name, b->name, size) == 0;
}

const sc_op *sc_op_find_out(sc_str name, sc_str overload) {
    SC_ASSERT(table.ready);
    char key[160];
    if (name.size + overload.size + 1 > sizeof key) return NULL;
    if (sc_str_is(overload, "default")) overload.size = 0;
    if (name.size) memcpy(key, name.data, name.size);
    size_t size = name.size;
    if (overload.size) {
        key[size++] = '.';
        memcpy(key + size, overload.data, overload.size);
        size += overload.size;
    }
    return handed_out(sc_map_get(&table.by_out, (sc_str){key, size}));
}

// --- The .pte form -------------------------------------------------------------------------------

uint32_t sc_op_written_count(const sc_op *op) {
    uint32_t count = 0;
    if (!sc_op_has(op, SC_MUTATES)) return 0;
    for (uint32_t i = 0; i < op->schema->param_count; i++)
        count += op->schema->params[i].is_written;
    return count;
}

uint32_t sc_op_out_count(const sc_op *op) {
    const uint32_t written = sc_op_written_count(op), returned = op->schema->return_count;
    return returned > written ? returned - written : 0;
}
