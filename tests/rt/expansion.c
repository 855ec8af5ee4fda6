#include "rt/expansion.h"

#include <math.h>

#include "api/compile/executable.h"
#include "api/compiling.h"
#include "api/job/options.h"
#include "harness.h"
#include "passes/passes.h"

enum { OUTPUTS_MAX = 3, BYTES_MAX = 1 << 14 };

// --- Programs ------------------------------------------------------------------------------------

bool expansion_parse(setup *s, const char *text, sc_program **program) {
    if (!text || !CHECK_OK(sc_program_parse(&s->ctx, sc_str_from(text), program))) return false;
    for (uint32_t i = 0; i < (*program)->methods.count; i++)
        (*program)->methods.data[i]->facts = SC_FACT_SPECS | SC_FACT_EDGE | SC_FACT_CORE;
    return true;
}

// The program as the pass leaves it, as text.
char *expansion_of(const char *text) {
    const sc_options options = sc_options_default();
    sc_pipeline pipeline = {.env = {.options = &options}};
    char *out = NULL;
    sc_program *program;
    setup s;
    setup_begin(&s);
    if (expansion_parse(&s, text, &program) &&
        CHECK_OK(sc_pipeline_pass(&s.ctx, &pipeline, sc_pass_find(SC_STR("official")),
                                  program->methods.data[0]))) {
        sc_sb sb;
        sc_sb_init(&sb, &s.arena);
        sc_program_print(&sb, program, (sc_print_options){0});
        out = test_format("%s", sc_sb_terminate(&sb));
    }
    setup_end(&s);
    return out;
}

// The text with `to` in the place of the only `from`.
char *expansion_changed(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    if (!CHECK(at) || !CHECK(!strstr(at + 1, from))) return NULL;
    return test_format("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

// --- Runs ----------------------------------------------------------------------------------------

typedef struct outcome {
    uint32_t calls;  // of the operator
    double bytes[OUTPUTS_MAX][BYTES_MAX / sizeof(double)];
    uint32_t count, sizes[OUTPUTS_MAX];
    uint8_t dtypes[OUTPUTS_MAX];
} outcome;

// The name of an input, as the text of the program has it.
static sc_str input_name(const char *text, uint32_t index) {
    static const char word[] = "  input %";
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
        const char *name = at + sizeof word - 1;
        if (index-- == 0) return (sc_str){name, strcspn(name, ":")};
    }
    return (sc_str){0};
}

enum { KINDS = 6 };

// Numbers of both signs. Rough ones take each end of their dtype and each value about 0 with each
// that a second input has.
static int64_t datum(sc_dtype dtype, uint32_t index, int64_t i, bool is_rough) {
    static const int64_t plain[] = {-7, 6, 0, -12, 9, 35, -1, 18, -36, 100, -64, 21, 1};
    const int64_t least = -1 - (int64_t)(UINT64_MAX >> (65 - 8 * sc_dtype_bytes(dtype)));
    const int64_t kinds[KINDS] = {least, -1, 0, 1, least + 1, -1 - least};
    if (is_rough && i < KINDS * KINDS) return kinds[index == 0 ? i % KINDS : i / KINDS];
    return plain[(i + 3 * index) % (int64_t)SC_COUNT_OF(plain)];
}

// Indexes of 41 places: all different, or few of them, in no order.
static int64_t place_of(int64_t i, bool is_rough) {
    static const int64_t few[] = {7, 0, 40, 7, 2, 7, 39, 0, 2, 7, 5};
    return is_rough ? few[i % (int64_t)SC_COUNT_OF(few)] : (17 * i + 5) % 41;
}

// Those that signs, and what is told apart by them, might be wrong of.
static double odd_real(uint32_t index, int64_t i) {
    const double odd[] = {-INFINITY, INFINITY, -0.0, 0.0, NAN, -(double)NAN, -2.5, 3, -1e-40, 1e-7};
    const int64_t count = (int64_t)SC_COUNT_OF(odd);
    return odd[(index == 0 ? i : i / count) % count];
}

static int64_t end_of(int64_t i, bool is_rough) {
    static const int64_t ends[] = {5, -2, 2, 40, 7};
    return is_rough ? ends[i % 5] : 3 * i;
}

// See the header.
void expansion_fill(setup *s, const char *text, uint32_t index, bool is_rough) {
    const sc_tensor *t = s->method->values[s->method->inputs[index]].tensor;
    const sc_str name = input_name(text, index);
    const bool is_end = sc_str_is(name, "ends"), is_place = sc_str_is(name, "index"),
               is_odd = is_rough && sc_str_is(name, index == 0 ? "odd" : "odder");
    double bytes[BYTES_MAX / sizeof(double)];
    sc_tensor dense = *t;
    dense.data = bytes;
    if (!CHECK((uint64_t)t->numel * sc_dtype_bytes((sc_dtype)t->dtype) <= BYTES_MAX)) return;
    for (int64_t i = 0; i < t->numel; i++) {
        const double number = (i % 7 == 3 ? -1 : 1) * (0.8 + 0.05 * (double)(i * 5 % 11));
        if (sc_dtype_is_float((sc_dtype)t->dtype))
            sc_tensor_put_real(&dense, i,
                               is_odd                  ? odd_real(index, i)
                               : is_rough && i % 5 < 2 ? -INFINITY
                                                       : number);
        else
            sc_tensor_put_integer(&dense, i,
                                  is_end     ? end_of(i, is_rough)
                                  : is_place ? place_of(i, is_rough)
                                             : datum((sc_dtype)t->dtype, index, i, is_rough));
    }
    const sc_rt_input input = {.tag = SC_EVALUE_TENSOR,
                               .dtype = t->dtype,
                               .rank = t->rank,
                               .sizes = t->sizes,
                               .data = bytes,
                               .bytes = (uint64_t)t->numel * sc_dtype_bytes((sc_dtype)t->dtype)};
    CHECK_OK(setup_set(s, index, input));
}

static void read_outputs(setup *s, outcome *o) {
    o->count = sc_rt_method_output_count(s->method);
    for (uint32_t i = 0; CHECK(o->count <= OUTPUTS_MAX) && i < o->count; i++) {
        const sc_tensor *t = sc_rt_method_output(s->method, i)->tensor;
        o->dtypes[i] = t->dtype;
        o->sizes[i] = (uint32_t)t->numel;
        if (!CHECK((uint64_t)t->numel * sc_dtype_bytes((sc_dtype)t->dtype) <= BYTES_MAX)) return;
        sc_rt_tensor_read(t, o->bytes[i], (size_t)t->numel * sc_dtype_bytes((sc_dtype)t->dtype));
    }
}

bool expansion_load(setup *s, const char *text, bool optimize) {
    const sc_options options = sc_options_here();
    sc_pipeline pipeline = {.env = {.options = &options}};
    sc_program *program;
    sc_executable made;
    sc_rt_options loading;
    sc_rt_options_default(&loading);
    loading.optimize = optimize;
    setup_begin(s);
    return expansion_parse(s, text, &program) &&
           CHECK_OK(sc_make_executable(&s->ctx, &pipeline, program, &made)) &&
           CHECK_OK(sc_rt_program_open(&s->ctx,
                                       sc_source_from_cord(&s->arena, &made.result.program),
                                       &loading, &s->program)) &&
           setup_load(s, "forward");
}

static void run(const char *text, sc_op_id op, bool optimize, bool is_rough, outcome *o) {
    setup s;
    *o = (outcome){.count = 0};
    if (expansion_load(&s, text, optimize)) {
        for (int k = 0; k < 2; k++) {  // a run may write over inputs
            for (uint32_t i = 0; i < s.method->input_count; i++)
                expansion_fill(&s, text, i, is_rough);
            CHECK_OK(sc_rt_method_run(&s.ctx, s.method));
        }
        for (uint32_t i = 0; i < s.method->code_count; i++)
            o->calls +=
                s.method->code[i].kind == SC_RT_KERNEL && s.method->code[i].call.op->id == op;
        read_outputs(&s, o);
    }
    setup_end(&s);
}

static void check_same(outcome *a, outcome *b, bool to_the_bit) {
    CHECK_EQ_INT(a->count, b->count);
    for (uint32_t k = 0; k < a->count; k++) {
        const sc_tensor x = {.data = a->bytes[k], .dtype = a->dtypes[k]};
        const sc_tensor y = {.data = b->bytes[k], .dtype = b->dtypes[k]};
        if (!CHECK_EQ_INT(a->sizes[k], b->sizes[k]) || !CHECK_EQ_INT(x.dtype, y.dtype)) return;
        if (to_the_bit || !sc_dtype_is_float((sc_dtype)x.dtype)) {
            CHECK(memcmp(x.data, y.data, a->sizes[k] * (size_t)sc_dtype_bytes((sc_dtype)x.dtype)) ==
                  0);
            continue;
        }
        double largest = 0;  // of sums that cancel out, only rounding is left
        for (uint32_t i = 0; i < a->sizes[k]; i++)
            if (isfinite(sc_tensor_real(&y, i)))
                largest = fmax(largest, fabs(sc_tensor_real(&y, i)));
        for (uint32_t i = 0; i < a->sizes[k]; i++) {
            const double p = sc_tensor_real(&x, i), q = sc_tensor_real(&y, i);
            if (p != q && !(isnan(p) && isnan(q)) && !(fabs(p - q) < 1e-6 * largest))
                CHECK_CLOSE(p / q, 1, 1e-5);
        }
    }
}

// How often the operator is called of what is loaded; as written it never is.
uint32_t expansion_found(const char *text, sc_op_id op) {
    static outcome written, rewritten;
    uint32_t calls = 0;
    if (!text) return UINT32_MAX;
    for (int is_rough = 0; is_rough < 2; is_rough++) {
        run(text, op, false, is_rough, &written);
        run(text, op, true, is_rough, &rewritten);
        CHECK_EQ_INT(written.calls, 0);
        CHECK(written.count > 0);
        check_same(&written, &rewritten, false);
        calls = rewritten.calls;
    }
    return calls;
}

static uint32_t gone(const char *text, sc_op_id op, bool is_rough, bool to_the_bit) {
    static outcome written, rewritten;
    if (!text) return UINT32_MAX;
    run(text, op, false, is_rough, &written);
    run(text, op, true, is_rough, &rewritten);
    CHECK(written.count > 0);
    check_same(&written, &rewritten, to_the_bit);
    return written.calls - rewritten.calls;
}

uint32_t expansion_gone(const char *text, sc_op_id op, bool is_rough) {
    return gone(text, op, is_rough, false);
}

uint32_t expansion_gone_exactly(const char *text, sc_op_id op) {
    return gone(text, op, true, true);
}

char *expansion_of_call(const char *type, const char *call) {
    return expansion_of(test_format("method forward {\n  input %%x: %s\n  %%y: %s = %s\n"
                                    "  return %%y\n}\n",
                                    type, type, call));
}
