// A part of a program that a backend has taken over, and the call that replaces it. A node of
// higher_order::executorch_call_delegate has the part as an argument of its own kind, and the
// part's operands as a list. Its results are those of the part. For code that walks graphs the call
// is one opaque node: a part is never a body.
//
// The part has a method of its own, outside any program's list: the graph that the backend was
// given, with debug handles. Its signature says which inputs are weights that moved into it. Inputs
// of kind user are passed by a call and outputs of kind user returned, in order. Buffers that the
// part writes are state in it. Parts never change once a node names them, so versions of a program
// share them with their symbols: a part has the symbols of the method that it was cut from. Only a
// method with other symbols gets a copy.
// Prefix: sc_part_ is a part, or facts about its operands.
#ifndef SC_PART_H
#define SC_PART_H

#include "base/cord.h"
#include "ir/ir.h"

// A request to the backend, verbatim; the value may be any bytes.
typedef struct sc_compile_spec {
    sc_str key, value;
} sc_compile_spec;

// The nodes behind one event that the backend reports at run time (rt/backend.h). The last handle
// is that of the node whose result it computes.
typedef struct sc_part_event {
    sc_str name;  // not contained in another's name; without data if the backend counts: `id`
    int64_t id;
    uint32_t *handles;
    uint32_t handle_count;
} sc_part_event;

// Bytes that the backend looks up by name when it starts; parts may share them.
typedef struct sc_part_data {
    sc_str key;
    sc_str tag;  // the .ptd file for them; empty: the program itself
    const sc_cord *bytes;
    uint64_t align;
    const sc_spec *layout;  // of a tensor, dense and of known sizes; NULL: plain bytes
    struct {                // names of the constants that they were made of, where that is known
        const sc_str *data;
        uint32_t count;
    } weights;
} sc_part_data;

struct sc_part {
    sc_method *method;
    sc_str backend;
    SC_VEC(sc_compile_spec) specs;
    const sc_cord *processed;  // the bytes that the backend made of the graph
    bool says_inputs;          // the file states where the inputs of calls end
    bool has_events;           // the backend says which nodes its events belong to, perhaps to no
                               // node
    SC_VEC(sc_part_event) events;
    SC_VEC(sc_part_data) data;
};

// A new part of `method`, with an empty graph and no bytes of its backend yet.
sc_part *sc_part_new(sc_method *method, sc_str name);
// The layout of a dense tensor whose dims lie in that order, outermost first; NULL where `order`
// is not one of `rank` dims, or a size or all of them are out of range.
const sc_spec *sc_part_layout(const sc_part *part, sc_dtype dtype, uint32_t rank,
                              const int64_t *sizes, const int64_t *order);
// Is this buffer state that the part keeps?
bool sc_part_writes(const sc_part *part, sc_str target);
// Does a call have effects besides its results?
bool sc_part_has_effect(const sc_part *part);
// The part that a node calls, NULL for all other nodes.
const sc_part *sc_node_part(const sc_node *node);

#endif
