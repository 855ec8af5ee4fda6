// Shape rules against PyTorch: every line of tests/ops/*.case is a call and the dtype, sizes and
// strides of its results. See tests/make/make_cases.py, which writes them.
#include "ops/infer.h"

#include "setup.h"

enum { ARG_MAX = 24, ITEM_MAX = 16 };

typedef struct reader {
    setup s;
    sc_str line;
    size_t at;
    sc_exprs *exprs;
} reader;

static char peek(reader *r) {
    while (r->at < r->line.size && r->line.data[r->at] == ' ') r->at++;
    return r->at < r->line.size ? r->line.data[r->at] : '\0';
}

static bool take(reader *r, char c) {
    if (peek(r) != c) return false;
    r->at++;
    return true;
}

// Up to the next delimiter.
static sc_str take_word(reader *r) {
    peek(r);
    size_t begin = r->at;
    while (r->at < r->line.size && !strchr(" ,()[]{}=", r->line.data[r->at])) r->at++;
    return sc_str_slice(r->line, begin, r->at);
}

static uint32_t take_dims(reader *r, char close, sc_dim *dims) {
    uint32_t count = 0;
    while (!take(r, close)) {
        take(r, ',');
        sc_str word = take_word(r);
        if (sc_str_is(word, "_"))
            dims[count++] = sc_dim_int(-1);
        else if (!CHECK_OK(sc_dim_parse(&r->s.ctx, r->exprs, word, &dims[count++])))
            return 0;
    }
    return count;
}

static sc_spec take_spec(reader *r, sc_dtype dtype) {
    sc_dim dims[SC_RANK_MAX];
    uint32_t rank = take_dims(r, ']', dims);
    sc_spec spec = sc_spec_new(&r->s.arena, dtype, rank);
    memcpy(spec.sizes, dims, rank * sizeof *dims);
    sc_spec_set_contiguous(r->exprs, &spec);
    if (r->at < r->line.size && r->line.data[r->at] == '{') {
        r->at++;
        take_dims(r, '}', spec.strides);
    }
    return spec;
}

static sc_iarg word_arg(sc_str word) {
    static const char *const formats[] = {"contiguous_format", "preserve_format", "channels_last",
                                          "channels_last_3d"};
    sc_iarg arg = {.kind = SC_IARG_NONE};
    if (sc_str_is(word, "None")) return arg;
    if (sc_str_is(word, "True") || sc_str_is(word, "False"))
        return (sc_iarg){.kind = SC_IARG_BOOL, .b = sc_str_is(word, "True")};
    if (word.size > 1 && word.data[0] == '\'')
        return (sc_iarg){.kind = SC_IARG_STR, .str = sc_str_slice(word, 1, word.size - 1)};
    for (uint32_t i = 0; i < 4; i++)
        if (sc_str_is(word, formats[i])) return (sc_iarg){.kind = SC_IARG_MEMORY_FORMAT, .code = i};
    if (sc_dtype_from_short(word) != SC_DTYPE_NONE)
        return (sc_iarg){.kind = SC_IARG_DTYPE, .code = sc_dtype_from_short(word)};
    if (sc_parse_i64(word, &arg.dim.value))
        arg.kind = SC_IARG_INT;
    else if (sc_parse_f64(word, &arg.f))
        arg.kind = SC_IARG_FLOAT;
    else
        FAIL("argument '" SC_STR_FMT "'", SC_STR_ARG(word));
    return arg;
}

// One argument; `inside` a list there are no further lists.
static sc_iarg take_arg(reader *r, bool inside) {
    if (!inside && take(r, '[')) {
        sc_iarg *items = sc_new_array(&r->s.arena, sc_iarg, ITEM_MAX);
        uint32_t count = 0;
        while (!take(r, ']')) {
            take(r, ',');
            items[count++] = take_arg(r, true);
        }
        return (sc_iarg){.kind = SC_IARG_LIST, .count = count, .items = items};
    }
    sc_str word = take_word(r);
    if (r->at < r->line.size && r->line.data[r->at] == '[') {
        r->at++;
        sc_spec *spec = sc_new(&r->s.arena, sc_spec);
        *spec = take_spec(r, sc_dtype_from_short(word));
        return (sc_iarg){.kind = SC_IARG_TENSOR, .tensor = spec};
    }
    return word_arg(word);
}

static sc_iarg default_arg(reader *r, const sc_param *p) {
    switch (p->default_kind) {
    case SC_DEFAULT_INT:
        if (p->type == SC_PARAM_DTYPE)
            return (sc_iarg){.kind = SC_IARG_DTYPE, .code = (uint32_t)p->default_int};
        return (sc_iarg){.kind = SC_IARG_INT, .dim = sc_dim_int(p->default_int)};
    case SC_DEFAULT_FLOAT: return (sc_iarg){.kind = SC_IARG_FLOAT, .f = p->default_float};
    case SC_DEFAULT_BOOL: return (sc_iarg){.kind = SC_IARG_BOOL, .b = p->default_int != 0};
    case SC_DEFAULT_STR: return (sc_iarg){.kind = SC_IARG_STR, .str = p->default_str};
    case SC_DEFAULT_MEMORY_FORMAT:
        return (sc_iarg){.kind = SC_IARG_MEMORY_FORMAT, .code = (uint32_t)p->default_int};
    case SC_DEFAULT_INTS: {
        sc_iarg *items = sc_new_array(&r->s.arena, sc_iarg, ITEM_MAX);
        for (uint32_t i = 0; i < p->default_ints_count; i++)
            items[i] = (sc_iarg){.kind = SC_IARG_INT, .dim = sc_dim_int(p->default_ints[i])};
        return (sc_iarg){.kind = SC_IARG_LIST, .count = p->default_ints_count, .items = items};
    }
    default: return (sc_iarg){.kind = SC_IARG_NONE};
    }
}

static bool take_call(reader *r, sc_infer *in) {
    size_t open = 0;
    while (open < r->line.size && r->line.data[open] != '(') open++;
    in->op = sc_op_find(sc_str_slice(r->line, 0, open));
    r->at = open + 1;
    if (!in->op) return false;
    const sc_schema *schema = in->op->schema;
    sc_iarg *args = sc_new_array(&r->s.arena, sc_iarg, ARG_MAX);
    for (uint32_t i = 0; i < schema->param_count; i++) args[i] = default_arg(r, &schema->params[i]);
    for (uint32_t i = 0; !take(r, ')'); i++) {
        take(r, ',');
        size_t back = r->at;
        sc_str name = take_word(r);
        uint32_t at = i;
        if (take(r, '=')) {
            for (at = 0; at < schema->param_count; at++)
                if (sc_str_equal(schema->params[at].name, name)) break;
        } else {
            r->at = back;
        }
        if (at >= schema->param_count) return false;
        args[at] = take_arg(r, false);
        // int[2] kernel_size=3 stands for [3, 3], as in files.
        if (schema->params[at].list_size && args[at].kind == SC_IARG_INT) {
            sc_iarg *item = sc_new(&r->s.arena, sc_iarg);
            *item = args[at];
            args[at] = (sc_iarg){.kind = SC_IARG_LIST, .count = 1, .items = item};
        }
    }
    in->args = args;
    in->arg_count = schema->param_count;
    return true;
}

static const char *text_of(reader *r, const sc_spec *spec) {
    sc_sb sb;
    sc_sb_init(&sb, &r->s.arena);
    sc_spec_print(&sb, r->exprs, spec);
    sc_sb_add_text(&sb, " in steps of");
    for (uint32_t d = 0; d < spec->rank; d++) {
        sc_sb_add_char(&sb, ' ');
        sc_dim_print(&sb, spec->strides[d]);
    }
    return sc_sb_terminate(&sb);
}

// To the last stride that the line knows: those of dims of size 1, which place no element, still
// say which memory format PyTorch takes a tensor for.
static bool is_same(const sc_spec *expected, const sc_spec *spec) {
    if (!sc_spec_equal(expected, spec)) return false;
    bool empty = false;
    for (uint32_t d = 0; d < spec->rank; d++) empty = empty || sc_dim_is(spec->sizes[d], 0);
    for (uint32_t d = 0; d < spec->rank && !empty; d++)
        if (!sc_dim_is(expected->strides[d], -1) &&
            !sc_dim_equal(expected->strides[d], spec->strides[d]))
            return false;
    return true;
}

static void run_line(const char *file, size_t number, sc_str line) {
    reader r = {.line = line};
    setup_begin(&r.s);
    r.exprs = sc_exprs_new(&r.s.arena, r.s.ctx.names);
    sc_infer in = {.ctx = &r.s.ctx, .arena = &r.s.arena, .exprs = r.exprs};
    if (!take_call(&r, &in)) {
        FAIL("%s:%zu: cannot read " SC_STR_FMT, file, number, SC_STR_ARG(line));
        setup_end(&r.s);
        return;
    }
    r.at += 4;
    sc_status status = sc_infer_run(&in);
    if (sc_str_ends_with(line, "-> error")) {
        if (status == SC_OK)
            FAIL("%s:%zu: " SC_STR_FMT ", but gave a result", file, number, SC_STR_ARG(line));
    } else if (status != SC_OK) {
        FAIL("%s:%zu: " SC_STR_FMT ": %s", file, number, SC_STR_ARG(line), setup_message(&r.s));
    } else {
        uint32_t count = 0;
        for (; peek(&r); count++) {
            take(&r, ',');
            sc_iarg expected = take_arg(&r, false);
            if (count < in.out_count && (expected.kind != SC_IARG_TENSOR ||
                                         !is_same(expected.tensor, &in.outs[count].spec)))
                FAIL("%s:%zu: " SC_STR_FMT ", but result %u is %s", file, number, SC_STR_ARG(line),
                     count, text_of(&r, &in.outs[count].spec));
        }
        if (count != in.out_count)
            FAIL("%s:%zu: %u results, not %u", file, number, in.out_count, count);
    }
    setup_end(&r.s);
}

TEST_CASES(infer_agrees_with_pytorch) {
    size_t count;
    REQUIRE_OK(sc_ops_init());
    const char **files = test_list("ops", ".case", &count);
    for (size_t i = 0; i < count; i++) {
        size_t bytes, number = 0;
        if (!test_case("%s", files[i])) continue;
        sc_str text = {test_read(files[i], &bytes), 0};
        text.size = bytes;
        while (text.size) {
            ptrdiff_t end = sc_str_find(text, '\n');
            size_t size = end < 0 ? text.size : (size_t)end;
            number++;
            if (size && text.data[0] != '#')
                run_line(files[i], number, sc_str_slice(text, 0, size));
            text = sc_str_slice(text, size + (end >= 0), text.size);
        }
    }
}
