// Shared by the two halves of the unpickler: pickle.c runs opcodes, pickle_call.c knows what the
// few globals that we understand make of their arguments. The writer shares the names of dtypes.
// Prefix: sc_pickle_ changes the machine that runs the opcodes here.
#ifndef SC_PICKLE_MACHINE_H
#define SC_PICKLE_MACHINE_H

#include "base/map.h"
#include "format/pickle.h"

typedef struct sc_pickle_dtype {
    const char *name, *storage_class;  // in module torch; NULL when there is no such class
    uint8_t code;                      // serialized ScalarType
    uint8_t item_bytes;
} sc_pickle_dtype;

const sc_pickle_dtype *sc_pickle_dtype_of(uint8_t code);  // NULL when unknown

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
// Counts work against limits.pickle_opcode_max: whatever a few bytes of input can make us repeat.
sc_status sc_pickle_spend(sc_pickle_machine *m, uint64_t work);
sc_pickle_value *sc_pickle_new(sc_pickle_machine *m, sc_pickle_kind kind);
// Containers grow by doubling from 4, so the count alone tells when they are full.
void sc_pickle_append(sc_pickle_machine *m, sc_pickle_value *list, sc_pickle_value *item);
void sc_pickle_append_pair(sc_pickle_machine *m, sc_pickle_value *dict, sc_pickle_value *key,
                           sc_pickle_value *value);

// A global by name: a dtype, or a GLOBAL that may be called later.
sc_pickle_value *sc_pickle_global(sc_pickle_machine *m, sc_str module, sc_str name);
// Calls `callee` with `args`: gives a known result, else an opaque object.
sc_status sc_pickle_call(sc_pickle_machine *m, sc_pickle_value *callee, sc_pickle_value *args,
                         sc_pickle_value **out);
// A storage, from the tuple ('storage', class, key, location, element count); other ids are opaque.
sc_status sc_pickle_persistent(sc_pickle_machine *m, sc_pickle_value *id, sc_pickle_value **out);

#endif
