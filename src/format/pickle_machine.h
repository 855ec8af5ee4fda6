// Declarations that the two halves of the unpickler share. pickle.c runs opcodes. pickle_call.c
// knows the results of the few known globals. The writer uses the names of dtypes.
// Prefix: sc_pickle_ changes the machine that runs the opcodes here.
#ifndef SC_PICKLE_MACHINE_H
#define SC_PICKLE_MACHINE_H

#include "base/map.h"
#include "format/pickle.h"

typedef struct sc_pickle_dtype {
    const char *name, *storage_class;  // in module torch; NULL if there is no such class
    uint8_t code;                      // serialized ScalarType
    uint8_t item_bytes;
} sc_pickle_dtype;

const sc_pickle_dtype *sc_pickle_dtype_of(uint8_t code);  // NULL if unknown

typedef struct sc_pickle_machine {
    sc_ctx *ctx;
    sc_arena *arena;
    const uint8_t *begin, *at, *end;
    SC_VEC(sc_pickle_value *) stack;
    SC_VEC(uint32_t) marks;  // stack heights
    SC_VEC(sc_pickle_value *) memo;
    sc_map storages;  // by key
    uint64_t work;    // opcodes run and items copied
    sc_pickle *out;
} sc_pickle_machine;

sc_status sc_pickle_fail(sc_pickle_machine *m, const char *what);
// Counts work against limits.pickle_opcode_max. This bounds work that a few bytes of input repeat.
sc_status sc_pickle_spend(sc_pickle_machine *m, uint64_t work);
sc_pickle_value *sc_pickle_new(sc_pickle_machine *m, sc_pickle_kind kind);
// Appends to a container. The capacity doubles from 4 on, so the count alone shows that it is full.
void sc_pickle_append(sc_pickle_machine *m, sc_pickle_value *list, sc_pickle_value *item);
void sc_pickle_append_pair(sc_pickle_machine *m, sc_pickle_value *dict, sc_pickle_value *key,
                           sc_pickle_value *value);

// Finds a global by name: a dtype, or a GLOBAL that may be called later.
sc_pickle_value *sc_pickle_global(sc_pickle_machine *m, sc_str module, sc_str name);
// Calls `callee` with `args`. The result is a value of a known kind, else an opaque object.
sc_status sc_pickle_call(sc_pickle_machine *m, sc_pickle_value *callee, sc_pickle_value *args,
                         sc_pickle_value **out);
// Makes a storage of the tuple ('storage', class, key, location, element count). Other ids are
// opaque.
sc_status sc_pickle_persistent(sc_pickle_machine *m, sc_pickle_value *id, sc_pickle_value **out);

#endif
