#include "ir/python_line.h"

static bool is_of_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static sc_str take_name(sc_str *text) {
    size_t size = 0;
    while (size < text->size && is_of_name(text->data[size])) size++;
    const sc_str name = sc_str_slice(*text, 0, size);
    *text = sc_str_slice(*text, size, text->size);
    return name;
}

// Is it that name, or the name with a number, which the exporter adds to make names unique?
static bool is_numbered(sc_str node, sc_str name) {
    if (!name.size || node.size < name.size || memcmp(node.data, name.data, name.size) != 0)
        return false;
    const sc_str rest = sc_str_slice(node, name.size, node.size);
    for (size_t at = 1; at < rest.size; at++)
        if (rest.data[at] < '0' || rest.data[at] > '9') return false;
    return rest.size == 0 || (rest.size > 1 && rest.data[0] == '_');
}

// Is the whole text "torch.NAME(...)" or "x.NAME(...)", for a node with that name?
static bool is_one_call(sc_str code, sc_str node) {
    sc_str name = take_name(&code);
    while (code.size && code.data[0] == '.') {
        code = sc_str_slice(code, 1, code.size);
        name = take_name(&code);
    }
    uint32_t depth = 0;
    for (size_t at = 0; at < code.size; at++) {
        depth += code.data[at] == '(';
        if (depth == 0) return false;
        depth -= code.data[at] == ')';
        if (depth == 0) return at + 1 == code.size && is_numbered(node, name);
    }
    return false;
}

sc_str sc_python_name(sc_str code, sc_str node) {
    const sc_str name = take_name(&code), is = SC_STR(" = ");
    if (!name.size || !sc_str_starts_with(code, is.data)) return (sc_str){0};
    code = sc_str_slice(code, is.size, code.size);
    return is_one_call(code, node) ? name : (sc_str){0};
}
