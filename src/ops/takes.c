// Which dtypes a kernel takes: what the kernel column of the table says about it, in letters. Asked
// when a program is lowered, with the user's line at hand, and before a call runs, because a .pte
// may come from anywhere. tests/kernels/kernel_dtypes_test.c holds the kernels to it.
#include "ops/takes.h"

#include "ops/infer.h"
#include "ops/rule.h"

#define BIT(id)  (UINT32_C(1) << SC_DTYPE_##id)
#define SIGNED   (BIT(I8) | BIT(I16) | BIT(I32) | BIT(I64))
#define UNSIGNED (BIT(U16) | BIT(U32) | BIT(U64))
#define INDICES  (BIT(I32) | BIT(I64))
#define FLOATS   (BIT(F16) | BIT(BF16) | BIT(F32) | BIT(F64))
#define COMPLEX  (BIT(C32) | BIT(C64) | BIT(C128))
#define NUMBERS  (BIT(BOOL) | BIT(U8) | SIGNED | UNSIGNED | FLOATS)

// A capital letter asks for the dtype of the first tensor as well. Three are more than a set: 'm'
// is moved into the result, which has its dtype or is a number as it is; 'k' is kept, and can be
// added to if that is asked for; 'h' has the dtype of the first tensor, or is a number beside one
// that is computed with as float32.
static const char letters[] = "aonvwigfqsdzcxlpbytmkh";
static const uint32_t sets[] = {
    UINT32_MAX,                     // a: any
    NUMBERS | COMPLEX,              // o: what can be added up
    NUMBERS,                        // n
    NUMBERS & ~BIT(BOOL),           // v
    BIT(U8) | SIGNED | FLOATS,      // w: what is multiplied and summed
    (NUMBERS & ~FLOATS),            // i: integers and bool
    BIT(U8) | SIGNED | UNSIGNED,    // g: integers
    FLOATS,                         // f
    FLOATS & ~BIT(F64),             // q: floats that are quantized
    BIT(F32),                       // s: single precision
    BIT(F32) | BIT(F64),            // d
    BIT(F64),                       // z
    BIT(C64) | BIT(C128),           // c
    INDICES,                        // x
    BIT(I64),                       // l
    INDICES | BIT(U8) | BIT(BOOL),  // p: positions, or a mask
    BIT(U8) | BIT(BOOL),            // b: a mask
    BIT(U8) | BIT(I8),              // y
    BIT(U8),                        // t: packed bits
    UINT32_MAX,                     // m
    UINT32_MAX,                     // k
    NUMBERS,                        // h
};
static const uint32_t as_float32 = FLOATS & ~BIT(F64);

static bool is_in(char letter, sc_dtype dtype) {
    return sets[strchr(letters, letter) - letters] >> dtype & 1;
}

bool sc_op_takes(const sc_op *op, sc_dtype dtype) {
    const char first = op->takes ? op->takes[0] : 0;
    return first >= 'a' && first <= 'z' && is_in(first, dtype);
}

// The dtype to convert to that most would take: one that the letter has.
static sc_dtype first_of(char letter, sc_dtype own) {
    static const sc_dtype usual[] = {SC_DTYPE_F32, SC_DTYPE_I32,  SC_DTYPE_I64,
                                     SC_DTYPE_F64, SC_DTYPE_BOOL, SC_DTYPE_U8};
    const bool is_float = sc_dtype_category(own) == SC_CATEGORY_FLOAT;
    for (size_t i = !is_float && is_in(letter, SC_DTYPE_I32); i < SC_COUNT_OF(usual); i++)
        if (is_in(letter, usual[i])) return usual[i];
    return SC_DTYPE_NONE;
}

// Copies convert between numbers of all kinds, and to complex ones.
static bool converts(sc_dtype from, sc_dtype to) {
    bool from_float8 = sc_dtype_category(from) == SC_CATEGORY_FLOAT8;
    bool to_float8 = sc_dtype_category(to) == SC_CATEGORY_FLOAT8;
    return (from_float8 || is_in('n', from)) && (to_float8 || is_in('o', to));
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
        return "Use float16, bfloat16 or quantized integers: nothing computes with float8.";
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

static bool lacks(taking *t, char letter, const sc_spec *spec, sc_str param) {
    const sc_dtype own = (sc_dtype)spec->dtype;
    const bool alike = letter >= 'A' && letter <= 'Z';
    sc_arena *arena = t->in->arena;
    if (t->first == SC_DTYPE_NONE) t->first = own;
    if (letter == 'm' && own != t->result && t->result != SC_DTYPE_NONE &&
        !sc_spec_is_empty(spec) && !converts(own, t->result)) {
        t->hint = hint_for(t->in, own, t->result, SC_DTYPE_NONE);
        t->what = sc_str_format(arena, "this runtime has no kernel that converts %s to %s",
                                sc_dtype_name(own), sc_dtype_name(t->result))
                      .data;
        return true;
    }
    if (letter == 'k' && sc_rule_bool(t->in, "accumulate", false)) letter = 'o';
    const bool must_equal = alike || (letter == 'h' && !(as_float32 >> t->first & 1));
    const char set = alike ? (char)(letter - 'A' + 'a') : letter;
    const bool fits = is_in(set, own);
    if (fits && !(must_equal && own != t->first)) return false;
    t->hint = hint_for(t->in, own, fits ? t->first : own, fits ? t->first : first_of(set, own));
    t->what =
        sc_str_format(arena, "this runtime has no kernel that takes %s as '" SC_STR_FMT "'%s%s",
                      sc_dtype_name(own), SC_STR_ARG(param), fits ? " beside " : "",
                      fits ? sc_dtype_name(t->first) : "")
            .data;
    return true;
}

static bool lacks_operand(taking *t) {
    const sc_infer *in = t->in;
    const char *letter = in->op->takes;
    for (uint32_t i = 0; i < in->arg_count; i++) {
        const sc_param *param = &in->op->schema->params[i];
        const sc_iarg *arg = &in->args[i];
        if (param->type != SC_PARAM_TENSOR) continue;
        const bool is_list = arg->kind == SC_IARG_LIST;
        for (uint32_t k = 0; k < (is_list ? arg->count : 1); k++) {
            const sc_iarg *item = is_list ? &arg->items[k] : arg;
            if (item->kind == SC_IARG_TENSOR && lacks(t, *letter, item->tensor, param->name))
                return true;
        }
        if (letter[1] && letter[1] != '>') letter++;
    }
    return false;
}

bool sc_infer_lacks_kernel(const sc_infer *in, const char **what, const char **hint) {
    taking t = {.in = in, .first = SC_DTYPE_NONE, .result = SC_DTYPE_NONE};
    if (!in->op->takes || !in->op->takes[0] || !computes(in)) return false;
    for (uint32_t i = in->out_count; i-- > 0;)
        if (in->outs[i].kind == SC_IOUT_TENSOR) t.result = (sc_dtype)in->outs[i].spec.dtype;
    const char *gives = strchr(in->op->takes, '>');
    bool lacking = lacks_operand(&t);
    if (!lacking && gives && t.result != SC_DTYPE_NONE && !is_in(gives[1], t.result)) {
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
