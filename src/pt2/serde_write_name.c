// Names of operators and values in the file. FX makes a graph of it, and needs names that it would
// give itself. It gives no name that is a word of Python or a builtin, and names the calls of
// delegates by its own rule. A value with such a name gets another one. A name that FX changed
// would be lost to its readers, and two inputs might end up as one.
#include "pt2/serde_write.h"

// Keywords, builtins, and FX's own imports.
static const char words[] =
    " False None True abs aiter all and anext any as ascii assert async await bin bool"
    " break breakpoint bytearray bytes callable chr class classmethod compile complex"
    " continue copyright credits def del delattr device dict dir divmod elif else"
    " enumerate eval except exec exit filter finally float for format from frozenset"
    " fx_pytree getattr global globals hasattr hash help hex id if import in inf input int"
    " is isinstance issubclass iter lambda len license list locals map max memoryview min"
    " nan next nonlocal not object oct open or ord pass pow print property pytree quit"
    " raise range repr return reversed round set setattr slice sorted staticmethod str sum"
    " super torch try tuple type vars while with yield zip ";

static bool is_word(sc_str name) {
    const char *at = name.size && name.data[0] != ' ' ? strstr(words, name.data) : NULL;
    for (; at; at = strstr(at + 1, name.data))
        if (at[-1] == ' ' && at[name.size] == ' ') return true;
    return false;
}

// A caller's input keeps its name: FX accepts any, and renames its own values.
static bool is_callers(const sc_serde_writer *w, const sc_value *value) {
    return !value->node && !w->in_part && value->graph == w->method->graph;
}

sc_str sc_serde_name(sc_serde_writer *w, const sc_value *value) {
    static const char call[] = "executorch_call_delegate";
    sc_str name = sc_name_str(value->name);
    if (value->node && sc_node_part(value->node) && sc_str_starts_with(name, call))
        name = sc_str_format(w->work, "getitem_of%s", name.data + sizeof(call) - 1);
    else if (is_callers(w, value) || !is_word(name))
        return name;
    else
        name = sc_str_format(w->work, SC_STR_FMT "_1", SC_STR_ARG(name));
    while (sc_graph_has_name(value->graph, name))
        name = sc_str_format(w->work, SC_STR_FMT "_", SC_STR_ARG(name));
    return name;
}

// PyTorch knows no values of writes, and finds the call that writes instead.
static sc_str known_name(const sc_op *op) {
    const sc_op *writes = sc_op_called(op);
    if (op->copy || writes == op) return op->schema->name;
    const sc_str out = sc_str_from(writes->out_name);
    return sc_str_slice(out, 0, (size_t)sc_str_find_last(out, '.'));
}

sc_str sc_serde_op_path(sc_arena *arena, const sc_op *op) {
    const sc_str name = known_name(op);
    const ptrdiff_t colon = sc_str_find(name, ':');
    if (colon < 0) return name;
    const sc_str space = sc_str_slice(name, 0, (size_t)colon);
    const sc_str rest = sc_str_slice(name, (size_t)colon + 2, name.size);
    const bool bare = sc_str_find(rest, '.') < 0 && !sc_str_is(space, "higher_order");
    return sc_str_format(arena, SC_STR_FMT "." SC_STR_FMT "%s", SC_STR_ARG(space), SC_STR_ARG(rest),
                         bare ? ".default" : "");
}
