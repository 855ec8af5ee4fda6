// Nodes and values as JSON, for code outside the core: the page, the command, backends of the host.
// Prefixes: sc_node_ and sc_value_ write the IR's node or value (ir/ir.h); sc_dim_ and sc_symbol_
// write those of core/dim.h.
#ifndef SC_NODE_JSON_H
#define SC_NODE_JSON_H

#include "format/json.h"
#include "ir/ir.h"

// A size: a number, or an expression as text.
void sc_dim_add_json(sc_json_writer *w, sc_arena *scratch, sc_dim dim);
// A bound of a range as a member: null if it is infinite.
void sc_dim_put_bound_json(sc_json_writer *w, const char *key, int64_t bound);
// Members of an open object: min and max of a symbol; null if they are infinite.
void sc_symbol_put_range_json(sc_json_writer *w, const sc_symbol *symbol);
// Members of an open object: name, kind and, for a tensor, dtype and shape.
void sc_value_put_json(sc_json_writer *w, sc_arena *scratch, const sc_value *value);
// Members of an open object: name, op, inputs, outputs, source, module, debugHandle.
void sc_node_put_json(sc_json_writer *w, sc_arena *scratch, const sc_node *node);
// An object with these members.
void sc_node_add_json(sc_json_writer *w, sc_arena *scratch, const sc_node *node);
// The same with args, by parameter: {"value": name}, numbers, text, null, lists.
void sc_node_add_full_json(sc_json_writer *w, sc_arena *scratch, const sc_node *node);

#endif
