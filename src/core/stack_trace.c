// Python's traceback text, as torch.export records it with every node: pairs of lines, ' File
// "net.py", line 12, in forward' and the code there. One rule decides which frame is the user's. It
// is the innermost one that is neither inside an installed package nor in generated code
// ("<eval_with_key>.12"). If there is none, it is the innermost of a package other than PyTorch,
// where a library has its model; else the innermost of all.
#include "core/stack_trace.h"

static sc_str trim(sc_str s) {
    while (s.size && (unsigned char)s.data[0] <= ' ') s = sc_str_slice(s, 1, s.size);
    while (s.size && (unsigned char)s.data[s.size - 1] <= ' ') s = sc_str_slice(s, 0, s.size - 1);
    return s;
}

static sc_str next_line(sc_str *text) {
    ptrdiff_t end = sc_str_find(*text, '\n');
    sc_str line = end < 0 ? *text : sc_str_slice(*text, 0, (size_t)end);
    *text = end < 0 ? (sc_str){0} : sc_str_slice(*text, (size_t)end + 1, text->size);
    return trim(line);
}

// Takes the text before `mark`; the text continues after it. Takes all of the text if the mark is
// missing.
static sc_str take_until(sc_str *text, sc_str mark) {
    for (size_t at = 0; at + mark.size <= text->size; at++) {
        if (memcmp(text->data + at, mark.data, mark.size) != 0) continue;
        sc_str taken = sc_str_slice(*text, 0, at);
        *text = sc_str_slice(*text, at + mark.size, text->size);
        return taken;
    }
    sc_str all = *text;
    *text = (sc_str){0};
    return all;
}

static bool read_head(sc_str line, sc_stack_frame *out) {
    const sc_str mark = SC_STR("File \"");
    if (!sc_str_starts_with(line, mark.data)) return false;
    line = sc_str_slice(line, mark.size, line.size);
    *out = (sc_stack_frame){.path = take_until(&line, SC_STR("\", line "))};
    out->line = take_until(&line, SC_STR(", in "));
    out->function = line;
    return out->path.size && out->line.size;
}

// The code stands in the next line, unless that is the head of another frame.
bool sc_stack_trace_next(sc_str *trace, sc_stack_frame *out) {
    while (trace->size) {
        if (!read_head(next_line(trace), out)) continue;
        sc_stack_frame other;
        sc_str rest = *trace, code = next_line(&rest);
        if (read_head(code, &other)) return true;
        out->code = code;
        *trace = rest;
        return true;
    }
    return false;
}

typedef enum owner { PYTORCH_OR_NOBODY, PACKAGE, USER } owner;

// Packages are installed into folders called site-packages or dist-packages.
static owner owner_of(sc_str path) {
    if (path.data[0] == '<') return PYTORCH_OR_NOBODY;
    for (sc_str rest = path; rest.size;) {
        take_until(&rest, SC_STR("-packages"));
        if (!rest.size || (rest.data[0] != '/' && rest.data[0] != '\\')) continue;
        sc_str name = sc_str_slice(rest, 1, rest.size);
        bool is_torch = sc_str_starts_with(name, "torch/") || sc_str_starts_with(name, "torch\\");
        return is_torch ? PYTORCH_OR_NOBODY : PACKAGE;
    }
    return USER;
}

static bool own_frame(sc_str trace, sc_stack_frame *out) {
    owner best = PYTORCH_OR_NOBODY;
    sc_stack_frame read;
    bool found = false;
    while (sc_stack_trace_next(&trace, &read)) {
        owner owns = owner_of(read.path);
        if (owns < best) continue;
        *out = read;
        best = owns;
        found = true;
    }
    return found;
}

sc_str sc_stack_trace_source(sc_arena *arena, sc_str trace) {
    sc_stack_frame own;
    if (!own_frame(trace, &own)) return (sc_str){"", 0};
    size_t name = own.path.size;
    while (name && own.path.data[name - 1] != '/' && own.path.data[name - 1] != '\\') name--;
    sc_str file = sc_str_slice(own.path, name, own.path.size);
    sc_sb out;
    sc_sb_init(&out, arena);
    sc_sb_addf(&out, SC_STR_FMT ":" SC_STR_FMT, SC_STR_ARG(file), SC_STR_ARG(own.line));
    if (own.function.size) sc_sb_addf(&out, " in " SC_STR_FMT, SC_STR_ARG(own.function));
    if (own.code.size) sc_sb_addf(&out, ": " SC_STR_FMT, SC_STR_ARG(own.code));
    return sc_sb_str(&out);
}

sc_str sc_stack_trace_code(sc_str trace) {
    sc_stack_frame own;
    return own_frame(trace, &own) ? own.code : (sc_str){0};
}
