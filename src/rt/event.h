// What an observer of a run sees. The runtime calls the sink around every method run and every
// instruction; a NULL sink costs one test. Sinks must not touch the program.
#ifndef SC_EVENT_H
#define SC_EVENT_H

#include "base/str.h"

typedef enum sc_event_kind {
    SC_EVENT_RUN_BEGIN,
    SC_EVENT_RUN_END,
    SC_EVENT_INSTRUCTION_BEGIN,
    SC_EVENT_INSTRUCTION_END
} sc_event_kind;

typedef struct sc_event {
    sc_event_kind kind;
    sc_str method;
    sc_str op;  // empty for jumps and moves
    uint32_t chain;
    uint32_t instruction;  // the file's index, which is also the debug handle
} sc_event;

typedef struct sc_event_sink {
    void *user;
    void (*event)(void *user, const sc_event *event);
} sc_event_sink;

#endif
