// The dtypes that a kernel takes, as the kernel column of the table says them:
//
//   "number"                     all operands are numbers
//   "float32|float64, same"      all operands have the dtype of the first, one of two
//   "any, index, same"           a word for each tensor parameter; the last stands for those that
//                                follow, and for each tensor of a list
//   "float, integer -> integer"  behind the arrow, the dtypes that a result may have
//
// A word is dtypes joined by '|', or one of those below. A column is parsed with its row. It is
// asked when a program is lowered, with the user's line at hand, and before a call runs, because a
// .pte may come from anywhere. tests/kernels/kernel_dtypes_test.c holds the kernels to it.
#include "ops/takes.h"

#include "ops/infer.h"
#include "ops/rule.h"

#define BIT(id)  (UINT32_C(1) << SC_DTYPE_##id)
#define ANY      UINT32_MAX
#define SIGNED   (BIT(I8) | BIT(I16) | BIT(I32) | BIT(I64))
#define INTEGERS (BIT(U8) | SIGNED | BIT(U16) | BIT(U32) | BIT(U64))
#define FLOATS   (BIT(F16) | BIT(BF16) | BIT(F32) | BIT(F64))
#define NUMBERS  (BIT(BOOL) | INTEGERS | FLOATS)
#define SUMMABLE (NUMBERS | BIT(C32) | BIT(C64) | BIT(C128))

static const struct {
    const char *word;
    sc_taken taken;
} words[] = {
    {"any", {ANY, SC_TAKES_THESE}},
    {"number", {NUMBERS, SC_TAKES_THESE}},  // real; bool is one
    {"integer", {INTEGERS, SC_TAKES_THESE}},
    {"signed", {SIGNED, SC_TAKES_THESE}},
    {"float", {FLOATS, SC_TAKES_THESE}},
    {"index", {BIT(I32) | BIT(I64), SC_TAKES_THESE}},
    {"same", {ANY, SC_TAKES_SAME}},      // the dtype of the first tensor
    {"cast", {ANY, SC_TAKES_CAST}},      // moved into the result: has its dtype, or is converted
    {"target", {ANY, SC_TAKES_TARGET}},  // kept, and added to if the call says `accumulate`
    // The dtype of the first tensor, or a number if that one is computed with as float32.
    {"bias", {NUMBERS, SC_TAKES_BIAS}},
};

// --- Parsing -------------------------------------------------------------------------------------

static sc_str next_word(const char **at) {
    const char *start = *at;
    *at += strcspn(start, "|, ");
    return (sc_str){start, (size_t)(*at - start)};
}

static sc_taken taken_of(sc_str word) {
    for (size_t i = 0; i < SC_COUNT_OF(words); i++)
        if (sc_str_is(word, words[i].word)) return words[i].taken;
    const sc_dtype dtype = sc_dtype_from_short(word);
    return (sc_taken){dtype == SC_DTYPE_NONE ? 0 : UINT32_C(1) << dtype, SC_TAKES_THESE};
}

// No dtypes where a word is unknown.
static sc_taken read_taken(const char **at) {
    sc_taken all = taken_of(next_word(at));
    while (all.dtypes && **at == '|') {
        (*at)++;
        const sc_taken more = taken_of(next_word(at));
        all.dtypes = more.dtypes && more.how == all.how ? all.dtypes | more.dtypes : 0;
    }
    return all;
}

static bool skip(const char **at, const char *text) {
    const size_t size = strlen(text);
    if (strncmp(*at, text, size) != 0) return false;
    *at += size;
    return true;
}

bool sc_takes_parse(const char *text, sc_takes *out) {
    *out = (sc_takes){.count = 0};
    if (!*text) return true;
    do {
        if (out->count == SC_TAKES_MAX) return false;
        sc_taken *taken = &out->operands[out->count++];
        *taken = read_taken(&text);
        if (!taken->dtypes) return false;
        if (taken->how == SC_TAKES_SAME) taken->dtypes = out->operands[0].dtypes;
    } while (skip(&text, ", "));
    if (skip(&text, " -> ")) {
        const sc_taken gives = read_taken(&text);
        out->gives = gives.how == SC_TAKES_THESE ? gives.dtypes : 0;
        if (!out->gives) return false;
    }
    return !*text;
}

// --- Asking --------------------------------------------------------------------------------------

static bool is_in(uint32_t dtypes, sc_dtype dtype) { return dtypes >> dtype & 1; }

bool sc_op_takes(const sc_op *op, sc_dtype dtype) {
    return op->takes && op->takes->count > 0 && is_in(op->takes->operands[0].dtypes, dtype);
}

// The dtype to convert to that most would take, of these.
static sc_dtype first_of(uint32_t dtypes, sc_dtype own) {
    static const sc_dtype usual[] = {SC_DTYPE_F32, SC_DTYPE_I32,  SC_DTYPE_I64,
                                     SC_DTYPE_F64, SC_DTYPE_BOOL, SC_DTYPE_U8};
    const bool is_float = sc_dtype_category(own) == SC_CATEGORY_FLOAT;
    for (size_t i = !is_float && is_in(dtypes, SC_DTYPE_I32); i < SC_COUNT_OF(usual); i++)
        if (is_in(dtypes, usual[i])) return usual[i];
    return SC_DTYPE_NONE;
}

// Copies convert between numbers of all kinds, and to complex ones.
static bool converts(sc_dtype from, sc_dtype to) {
    bool from_float8 = sc_dtype_category(from) == SC_CATEGORY_FLOAT8;
    bool to_float8 = sc_dtype_category(to) == SC_CATEGORY_FLOAT8;
    return (from_float8 || is_in(NUMBERS, from)) && (to_float8 || is_in(SUMMABLE, to));
}

// Calls without a result that has elements are skipped.
static bool computes(const sc_infer *in) {
    if (sc_op_has(in->op, SC_DATA_DEPENDENT | SC_MUTATES)) return true;
    for (uint32_t i = 0; i < in->out_count; i++)
        if (in->outs[i].kind == SC_IOUT_TENSOR && !sc_spec_is_empty(&in->outs[i].spec)) return true;
    return false;
}

static bool is_complex(const sc_spec *spec) { return sc_dtype_is_complex((sc_dtype)spec->dtype); }

// Are there complex numbers anywhere in the call? None of them are for .to() to convert.
static bool has_complex(const sc_infer *in) {
    for (uint32_t i = 0; i < in->arg_count; i++) {
        const sc_iarg *arg = &in->args[i];
        const bool is_list = arg->kind == SC_IARG_LIST;
        for (uint32_t k = 0; k < (is_list ? arg->count : 1); k++) {
            const sc_iarg *item = is_list ? &arg->items[k] : arg;
            if (item->kind == SC_IARG_TENSOR && is_complex(item->tensor)) return true;
        }
    }
    for (uint32_t i = 0; i < in->out_count; i++)
        if (in->outs[i].kind == SC_IOUT_TENSOR && is_complex(&in->outs[i].spec)) return true;
    return false;
}

static const char *hint_for(const sc_infer *in, sc_dtype a, sc_dtype b, sc_dtype to) {
    sc_category x = sc_dtype_category(a), y = sc_dtype_category(b);
    if (x == SC_CATEGORY_FLOAT8 || y == SC_CATEGORY_FLOAT8)
        return "Use float16, bfloat16 or quantized integers: no kernel computes with float8.";
    if (has_complex(in))
        return "Compute with real numbers: torch.view_as_real gives the parts of complex ones.";
    if (to == SC_DTYPE_NONE) return "Convert the operands with .to() before this operator.";
    return sc_str_format(in->arena, "Convert it before this operator: x.to(torch.%s).",
                         sc_dtype_name(to))
        .data;
}

typedef struct taking {
    const sc_infer *in;
    sc_dtype first, result;  // SC_DTYPE_NONE until there is one
    const char *what, *hint;
} taking;

// Must an operand of this kind have the dtype of the first one?
static bool must_equal(const taking *t, sc_taken taken) {
    return taken.how == SC_TAKES_SAME ||
           (taken.how == SC_TAKES_BIAS && !is_in(FLOATS & ~BIT(F64), t->first));
}

static bool lacks(taking *t, sc_taken taken, const sc_spec *spec, sc_str param) {
    const sc_dtype own = (sc_dtype)spec->dtype;
    sc_arena *arena = t->in->arena;
    if (t->first == SC_DTYPE_NONE) t->first = own;
    if (taken.how == SC_TAKES_CAST && own != t->result && t->result != SC_DTYPE_NONE &&
        !sc_spec_is_empty(spec) && !converts(own, t->result)) {
        t->hint = hint_for(t->in, own, t->result, SC_DTYPE_NONE);
        t->what = sc_str_format(arena, "this runtime has no kernel that converts %s to %s",
                                sc_dtype_name(own), sc_dtype_name(t->result))
                      .data;
        return true;
    }
    if (taken.how == SC_TAKES_TARGET && sc_rule_bool(t->in, "accumulate", false))
        taken.dtypes = SUMMABLE;
    const bool fits = is_in(taken.dtypes, own);
    if (fits && !(must_equal(t, taken) && own != t->first)) return false;
    t->hint =
        hint_for(t->in, own, fits ? t->first : own, fits ? t->first : first_of(taken.dtypes, own));
    t->what =
        sc_str_format(arena, "this runtime has no kernel that takes %s as '" SC_STR_FMT "'%s%s",
                      sc_dtype_name(own), SC_STR_ARG(param), fits ? " with " : "",
                      fits ? sc_dtype_name(t->first) : "")
            .data;
    return true;
}

static bool lacks_operand(taking *t) {
    const sc_infer *in = t->in;
    const sc_takes *takes = in->op->takes;
    uint32_t operand = 0;
    for (uint32_t i = 0; i < in->arg_count; i++) {
        const sc_param *param = &in->op->schema->params[i];
        const sc_iarg *arg = &in->args[i];
        if (param->type != SC_PARAM_TENSOR) continue;
        const bool is_list = arg->kind == SC_IARG_LIST;
        for (uint32_t k = 0; k < (is_list ? arg->count : 1); k++) {
            const sc_iarg *item = is_list ? &arg->items[k] : arg;
            if (item->kind == SC_IARG_TENSOR &&
                lacks(t, takes->operands[operand], item->tensor, param->name))
                return true;
        }
        if (operand + 1 < takes->count) operand++;
    }
    return false;
}

bool sc_infer_lacks_kernel(const sc_infer *in, const char **what, const char **hint) {
    taking t = {.in = in, .first = SC_DTYPE_NONE, .result = SC_DTYPE_NONE};
    if (!in->op->takes || in->op->takes->count == 0 || !computes(in)) return false;
    for (uint32_t i = in->out_count; i-- > 0;)
        if (in->outs[i].kind == SC_IOUT_TENSOR) t.result = (sc_dtype)in->outs[i].spec.dtype;
    const uint32_t gives = in->op->takes->gives;
    bool lacking = lacks_operand(&t);
    if (!lacking && gives && t.result != SC_DTYPE_NONE && !is_in(gives, t.result)) {
        t.hint = hint_for(in, t.result, t.result, SC_DTYPE_NONE);
        t.what = sc_str_format(in->arena, "this runtime has no kernel that gives %s",
                               sc_dtype_name(t.result))
                     .data;
        lacking = true;
    }
    *what = t.what;
    *hint = t.hint;
    return lacking;
}
