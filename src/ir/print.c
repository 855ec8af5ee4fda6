// The textual IR, one line per node:
//
//   constant get_vocab_size = 64
//   constant get_limits = {"low": [1, 0.5], "kind": f16, "table": tensor f32[2, 3]}
//   method forward torch "2.13.0" schema 8.14 decomposed {
//     pytree in "..." out "..."
//     symbol s0 [2, 512] hint 4
//     input %p_w: f32[4, 8] parameter "fc.weight" const f32[4, 8] 128
//     input %x: f32[s0, 8]
//     %t: f32[8, 4]{1, 8} = aten::t(%p_w)
//     %mm: f32[s0, 4] = aten::mm(%x, %t)
//     max_1: (%values: f32[s0], %indices: i64[s0]) = aten::max.dim(%mm, 1)
//     return %values, %b buffer_mutation "count"
//   }
//
// - A value is %name; its type is a tensor spec (dtype, sizes, {strides} unless row-major, +offset,
//   grad), or int, bool, float, none, opaque; int(s0 + 1) when the number is known.
// - A node with one result has the result's name; otherwise its name stands before the results.
// - Arguments stand in schema order, without trailing ones that equal their defaults; those after
//   the schema's '*' are written name=value. f32 is a dtype, channels_last a memory format, strided
//   and layout(N) layouts, device("cpu") a device; graph name { ... } is a body in place, and
//   part name "backend" { ... } a part that a backend has taken over (print_part.c).
// - An input or output without a kind is the user's. A constant shows spec and bytes, its content
//   only when it is a lifted number ("lifted" and hexadecimal bytes).
// - !(...) after a node is its meta: trace, modules, origin, handle, tag, kept.
// - Names that are not words are quoted; # begins a comment.
#include "ir/print.h"

static void print_quoted(sc_printer *p, sc_str s) { sc_text_print_quoted(p->sb, s); }

static void print_name(sc_printer *p, const sc_name *name) {
    sc_text_print_name(p->sb, sc_name_str(name));
}

static void print_value_name(sc_printer *p, const sc_value *value) {
    sc_sb_add_char(p->sb, '%');
    print_name(p, value->name);
}

// --- Types ---------------------------------------------------------------------------------------

static void print_dims(sc_printer *p, const sc_dim *dims, uint32_t count, const char *brackets) {
    sc_sb_add_char(p->sb, brackets[0]);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) sc_sb_add_text(p->sb, ", ");
        sc_dim_print(p->sb, dims[i]);
    }
    sc_sb_add_char(p->sb, brackets[1]);
}

// Strides are exact, even if a dim of size 1 makes one irrelevant: the text loses no facts.
static bool strides_are_row_major(sc_exprs *exprs, const sc_spec *spec) {
    sc_dim strides[SC_RANK_MAX];
    sc_spec plain = *spec;
    plain.strides = strides;
    sc_spec_set_contiguous(exprs, &plain);
    for (uint32_t i = 0; i < spec->rank; i++)
        if (!sc_dim_equal(spec->strides[i], strides[i])) return false;
    return true;
}

static void print_spec(sc_printer *p, sc_exprs *exprs, const sc_spec *spec) {
    sc_sb_add_text(p->sb, sc_dtype_short((sc_dtype)spec->dtype));
    print_dims(p, spec->sizes, spec->rank, "[]");
    if (!strides_are_row_major(exprs, spec)) print_dims(p, spec->strides, spec->rank, "{}");
    if (!sc_dim_is(spec->offset, 0)) print_dims(p, &spec->offset, 1, "<>");
    if (spec->requires_grad) sc_sb_add_text(p->sb, " grad");
}

static void print_type(sc_printer *p, const sc_value *value) {
    sc_sb_add_text(p->sb, ": ");
    if (value->type == SC_VALUE_TENSOR) {
        print_spec(p, value->graph->method->exprs, &value->spec);
        return;
    }
    sc_sb_add_text(p->sb, sc_text_value_types[value->type]);
    if (value->has_dim) print_dims(p, &value->dim, 1, "()");
}

// --- Arguments -----------------------------------------------------------------------------------

static void print_graph(sc_printer *p, const sc_graph *graph);
static void print_part(sc_printer *p, const sc_part *part);

static void print_arg(sc_printer *p, const sc_arg *arg) {
    switch ((sc_arg_kind)arg->kind) {
    case SC_ARG_NONE: sc_sb_add_text(p->sb, "None"); break;
    case SC_ARG_VALUE: print_value_name(p, arg->value); break;
    case SC_ARG_INT: sc_sb_add_i64(p->sb, arg->i); break;
    case SC_ARG_FLOAT: sc_sb_add_f64(p->sb, arg->f); break;
    case SC_ARG_BOOL: sc_sb_add_text(p->sb, arg->b ? "True" : "False"); break;
    case SC_ARG_STR: print_quoted(p, arg->str); break;
    case SC_ARG_DTYPE: sc_sb_add_text(p->sb, sc_dtype_short((sc_dtype)arg->code)); break;
    case SC_ARG_LAYOUT:
        if (arg->code == 0)
            sc_sb_add_text(p->sb, "strided");
        else
            sc_sb_addf(p->sb, "layout(%u)", arg->code);
        break;
    case SC_ARG_MEMORY_FORMAT: sc_sb_add_text(p->sb, sc_text_formats[arg->code & 3]); break;
    case SC_ARG_DEVICE:
        sc_sb_add_text(p->sb, "device(");
        print_quoted(p, arg->str);
        sc_sb_add_char(p->sb, ')');
        break;
    case SC_ARG_LIST:
        sc_sb_add_char(p->sb, '[');
        for (uint32_t i = 0; i < arg->count; i++) {
            if (i > 0) sc_sb_add_text(p->sb, ", ");
            print_arg(p, &arg->items[i]);
        }
        sc_sb_add_char(p->sb, ']');
        break;
    case SC_ARG_GRAPH: print_graph(p, arg->graph); break;
    case SC_ARG_PART: print_part(p, arg->part); break;
    }
}

static bool is_default(const sc_param *param, const sc_arg *arg) {
    if (param->default_kind == SC_DEFAULT_REQUIRED) return false;
    if (param->default_kind != SC_DEFAULT_INTS) {
        sc_arg value = sc_arg_default(NULL, param);  // only lists of integers allocate
        return sc_arg_equal(&value, arg);
    }
    if (arg->kind != SC_ARG_LIST || arg->count != param->default_ints_count) return false;
    for (uint32_t i = 0; i < arg->count; i++)
        if (arg->items[i].kind != SC_ARG_INT || arg->items[i].i != param->default_ints[i])
            return false;
    return true;
}

static void print_named_arg(sc_printer *p, sc_str name, const sc_arg *arg, bool *first) {
    if (!*first) sc_sb_add_text(p->sb, ", ");
    *first = false;
    if (name.size) {
        sc_text_print_name(p->sb, name);
        sc_sb_add_char(p->sb, '=');
    }
    print_arg(p, arg);
}

static void print_args(sc_printer *p, const sc_node *node) {
    const sc_schema *schema = sc_op_has(node->op, SC_FOREIGN) ? NULL : node->op->schema;
    uint32_t positional = node->arg_count;  // the number of leading arguments that are written
    bool first = true;
    sc_sb_add_char(p->sb, '(');
    if (schema) {
        while (positional > schema->param_count) positional--;
        while (positional > 0 &&
               (schema->params[positional - 1].keyword_only ||
                is_default(&schema->params[positional - 1], &node->args[positional - 1])))
            positional--;
    }
    for (uint32_t i = 0; i < node->arg_count; i++) {
        bool known = schema && i < schema->param_count;
        sc_str name = {0};
        if (!schema && node->arg_names) name = node->arg_names[i];
        if (known && schema->params[i].keyword_only) name = schema->params[i].name;
        if (known && i >= positional && is_default(&schema->params[i], &node->args[i])) continue;
        print_named_arg(p, name, &node->args[i], &first);
    }
    sc_sb_add_char(p->sb, ')');
}

// --- Nodes and graphs ----------------------------------------------------------------------------

static void print_meta(sc_printer *p, const sc_node *node) {
    const sc_meta *meta = &node->meta;
    if (!p->options.meta) return;
    if (!meta->stack_trace.size && !meta->module_stack.size && !meta->origin &&
        !meta->debug_handle && !node->tag && !node->is_kept)
        return;
    const char *separator = " !(";
    if (meta->stack_trace.size) {
        sc_sb_addf(p->sb, "%strace ", separator);
        print_quoted(p, meta->stack_trace);
        separator = ", ";
    }
    if (meta->module_stack.size) {
        sc_sb_addf(p->sb, "%smodules ", separator);
        print_quoted(p, meta->module_stack);
        separator = ", ";
    }
    if (meta->origin) {
        sc_sb_addf(p->sb, "%sorigin ", separator);
        print_name(p, meta->origin);
        separator = ", ";
    }
    if (meta->debug_handle) {
        sc_sb_addf(p->sb, "%shandle %u", separator, meta->debug_handle);
        separator = ", ";
    }
    if (node->tag) {
        sc_sb_addf(p->sb, "%stag ", separator);
        print_name(p, node->tag);
        separator = ", ";
    }
    if (node->is_kept) sc_sb_addf(p->sb, "%skept", separator);
    sc_sb_add_char(p->sb, ')');
}

static void print_node(sc_printer *p, const sc_node *node) {
    sc_print_line_start(p);
    bool plain = node->out_count == 1 && node->outs[0]->name == node->name;
    if (!plain) {
        print_name(p, node->name);
        sc_sb_add_text(p->sb, ": (");
    }
    for (uint32_t i = 0; i < node->out_count; i++) {
        if (i > 0) sc_sb_add_text(p->sb, ", ");
        print_value_name(p, node->outs[i]);
        print_type(p, node->outs[i]);
    }
    sc_sb_add_text(p->sb, plain ? " = " : ") = ");
    sc_text_print_name(p->sb, sc_str_from(node->op->name));
    print_args(p, node);
    print_meta(p, node);
    sc_sb_add_char(p->sb, '\n');
}

static void print_constant(sc_printer *p, sc_exprs *exprs, const sc_input_sig *sig) {
    const sc_constant *constant = sig->constant;
    sc_sb_add_text(p->sb, " const ");
    print_spec(p, exprs, &constant->spec);
    sc_sb_addf(p->sb, " %llu", (unsigned long long)constant->data.size);
    if (!sc_str_equal(constant->name, sig->target)) {
        sc_sb_add_text(p->sb, " named ");
        print_quoted(p, constant->name);
    }
    if (constant->persistent) sc_sb_add_text(p->sb, " kept");
    if (constant->lifted_scalar && constant->data.source && constant->data.source->memory) {
        sc_sb_add_text(p->sb, " lifted ");
        const uint8_t *bytes = constant->data.source->memory + constant->data.offset;
        for (uint64_t i = 0; i < constant->data.size; i++) sc_sb_addf(p->sb, "%02x", bytes[i]);
    }
}

static void print_input_sig(sc_printer *p, const sc_method *method, const sc_input_sig *sig) {
    if (sig->kind != SC_INPUT_USER) sc_sb_addf(p->sb, " %s", sc_text_input_kinds[sig->kind]);
    if (sig->target.size) {
        sc_sb_add_char(p->sb, ' ');
        print_quoted(p, sig->target);
    }
    if (sig->persistent) sc_sb_add_text(p->sb, " persistent");
    if (sig->is_trained) sc_sb_add_text(p->sb, " trained");
    if (sig->kind == SC_INPUT_CONSTANT) {
        sc_sb_add_char(p->sb, ' ');
        print_arg(p, &sig->constant_value);
    }
    if (sig->constant) print_constant(p, method->exprs, sig);
}

// `method` is NULL if there is no signature to show.
static void print_inputs(sc_printer *p, const sc_graph *graph, const sc_method *method) {
    for (uint32_t i = 0; i < graph->inputs.count; i++) {
        sc_print_line_start(p);
        sc_sb_add_text(p->sb, "input ");
        print_value_name(p, graph->inputs.data[i]);
        print_type(p, graph->inputs.data[i]);
        if (method && i < method->inputs.count) print_input_sig(p, method, &method->inputs.data[i]);
        sc_sb_add_char(p->sb, '\n');
    }
}

static void print_return(sc_printer *p, const sc_graph *graph, const sc_method *method) {
    sc_print_line_start(p);
    sc_sb_add_text(p->sb, "return");
    for (uint32_t i = 0; i < graph->ret->arg_count; i++) {
        sc_sb_add_text(p->sb, i > 0 ? ", " : " ");
        print_arg(p, &graph->ret->args[i]);
        if (!method || i >= method->outputs.count) continue;
        const sc_output_sig *sig = &method->outputs.data[i];
        if (sig->kind != SC_OUTPUT_USER) sc_sb_addf(p->sb, " %s", sc_text_output_kinds[sig->kind]);
        if (sig->target.size) {
            sc_sb_add_char(p->sb, ' ');
            print_quoted(p, sig->target);
        }
    }
    sc_sb_add_char(p->sb, '\n');
}

static void print_body(sc_printer *p, const sc_graph *graph, const sc_method *method) {
    print_inputs(p, graph, method);
    for (const sc_node *node = graph->first; node; node = node->next) print_node(p, node);
    print_return(p, graph, method);
}

static void print_graph(sc_printer *p, const sc_graph *graph) {
    sc_sb_add_text(p->sb, "graph ");
    if (graph->name) {
        print_name(p, graph->name);
        sc_sb_add_char(p->sb, ' ');
    }
    sc_sb_add_text(p->sb, "{\n");
    p->indent++;
    print_body(p, graph, NULL);
    p->indent--;
    sc_print_line_start(p);
    sc_sb_add_char(p->sb, '}');
}

static void print_part(sc_printer *p, const sc_part *part) {
    bool signature = p->options.signature;
    sc_sb_add_text(p->sb, "part ");
    print_name(p, part->method->name);
    sc_sb_add_char(p->sb, ' ');
    print_quoted(p, part->backend);
    sc_sb_add_text(p->sb, " {\n");
    p->indent++;
    if (signature) sc_print_part_header(p, part);
    print_body(p, part->method->graph, signature ? part->method : NULL);
    p->indent--;
    sc_print_line_start(p);
    sc_sb_add_char(p->sb, '}');
}

// --- Methods and programs ------------------------------------------------------------------------

static void print_bound(sc_printer *p, int64_t bound) {
    if (bound == SC_DIM_INF)
        sc_sb_add_text(p->sb, "inf");
    else if (bound == SC_DIM_NEG_INF)
        sc_sb_add_text(p->sb, "-inf");
    else
        sc_sb_add_i64(p->sb, bound);
}

static void print_symbols(sc_printer *p, sc_exprs *exprs) {
    for (uint32_t i = 0; i < sc_exprs_symbol_count(exprs); i++) {
        const sc_symbol *symbol = sc_exprs_symbol_at(exprs, i);
        sc_print_line_start(p);
        sc_sb_add_text(p->sb, "symbol ");
        print_name(p, symbol->name);
        sc_sb_add_text(p->sb, " [");
        print_bound(p, symbol->range.min);
        sc_sb_add_text(p->sb, ", ");
        print_bound(p, symbol->range.max);
        sc_sb_add_char(p->sb, ']');
        if (symbol->has_hint) {
            sc_sb_add_text(p->sb, " hint ");
            sc_sb_add_i64(p->sb, symbol->hint);
        }
        sc_sb_add_char(p->sb, '\n');
    }
}

static void print_pytree(sc_printer *p, const char *word, sc_str text) {
    if (!text.size) return;
    sc_sb_add_text(p->sb, word);
    print_quoted(p, text);
}

static void print_pytrees(sc_printer *p, const sc_method *method) {
    if (!method->in_spec.size && !method->out_spec.size && !method->arg_names.size) return;
    sc_print_line_start(p);
    sc_sb_add_text(p->sb, "pytree");
    print_pytree(p, " in ", method->in_spec);
    print_pytree(p, " out ", method->out_spec);
    print_pytree(p, " args ", method->arg_names);
    sc_sb_add_char(p->sb, '\n');
}

static void print_method(sc_printer *p, const sc_method *method) {
    bool signature = p->options.signature;
    sc_sb_add_text(p->sb, "method ");
    print_name(p, method->name);
    if (signature && method->torch_version.size) {
        sc_sb_add_text(p->sb, " torch ");
        print_quoted(p, method->torch_version);
    }
    if (signature && (method->schema_major || method->schema_minor))
        sc_sb_addf(p->sb, " schema %lld.%lld", (long long)method->schema_major,
                   (long long)method->schema_minor);
    if (signature && method->decomposed) sc_sb_add_text(p->sb, " decomposed");
    sc_sb_add_text(p->sb, " {\n");
    p->indent++;
    if (signature) print_pytrees(p, method);
    print_symbols(p, method->exprs);
    print_body(p, method->graph, signature ? method : NULL);
    p->indent--;
    sc_sb_add_text(p->sb, "}\n");
}

// --- Results of constant methods -----------------------------------------------------------------

static void print_tensor(sc_printer *p, const sc_spec *spec) {
    sc_sb_addf(p->sb, "tensor %s[", sc_dtype_short((sc_dtype)spec->dtype));
    for (uint32_t d = 0; d < spec->rank; d++) {
        if (d > 0) sc_sb_add_text(p->sb, ", ");
        sc_sb_add_i64(p->sb, spec->sizes[d].value);
    }
    sc_sb_add_char(p->sb, ']');
}

static void print_answer(sc_printer *p, const sc_answer *answer);

static void print_items(sc_printer *p, const sc_answer *answer, const char *brackets) {
    sc_sb_add_char(p->sb, brackets[0]);
    for (uint32_t i = 0; i < answer->count; i++) {
        if (i > 0) sc_sb_add_text(p->sb, ", ");
        if (answer->keys) {
            print_quoted(p, answer->keys[i]);
            sc_sb_add_text(p->sb, ": ");
        }
        print_answer(p, &answer->items[i]);
    }
    sc_sb_add_char(p->sb, brackets[1]);
}

static void print_answer(sc_printer *p, const sc_answer *answer) {
    switch (answer->kind) {
    case SC_ANSWER_PLAIN: print_arg(p, &answer->plain); break;
    case SC_ANSWER_TENSOR: print_tensor(p, &answer->tensor->spec); break;
    case SC_ANSWER_LIST: print_items(p, answer, "[]"); break;
    case SC_ANSWER_DICT: print_items(p, answer, "{}"); break;
    }
}

// --- Whole texts ---------------------------------------------------------------------------------

void sc_program_print(sc_sb *sb, const sc_program *program, sc_print_options options) {
    sc_printer p = {.sb = sb, .options = options};
    for (uint32_t i = 0; options.signature && i < program->constant_methods.count; i++) {
        sc_sb_add_text(sb, "constant ");
        print_name(&p, program->constant_methods.data[i].name);
        sc_sb_add_text(sb, " = ");
        print_answer(&p, &program->constant_methods.data[i].value);
        sc_sb_add_char(sb, '\n');
    }
    for (uint32_t i = 0; i < program->methods.count; i++)
        print_method(&p, program->methods.data[i]);
}

void sc_graph_print(sc_sb *sb, const sc_graph *graph, sc_print_options options) {
    sc_printer p = {.sb = sb, .options = options};
    print_graph(&p, graph);
    sc_sb_add_char(sb, '\n');
}
