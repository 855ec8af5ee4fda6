// Backends that the host of the library implements, in JavaScript for one: a question to the host
// is a kind, a delegate, and JSON; its answer is JSON and the bytes that it speaks of.
//
// A header of ours stands before the host's bytes for a part, because a .pte says neither how many
// arguments of a call are inputs nor which data is whose: SC_HOST_MAGIC; three numbers of four
// bytes, little endian: inputs, outputs, keys; for each key of named data its size, as such a
// number, and its bytes; zeros to a multiple of 16; what the host made.
// Prefix: sc_host_ is a backend of the host, sc_ask_ a question to it.
#ifndef SC_HOST_BACKEND_H
#define SC_HOST_BACKEND_H

#include "base/diag.h"
#include "base/str.h"

#define SC_HOST_MAGIC "SH01"

enum { SC_HOST_ALIGN_MAX = 1 << 24 };

typedef enum sc_ask_kind {
#define ASK(NAME) SC_ASK_##NAME,
#include "backends/host/ask.def"
#undef ASK
} sc_ask_kind;

typedef struct sc_ask sc_ask;

// How hosts implement a backend. The strings and the struct are copied.
typedef struct sc_host_backend {
    sc_str id;        // that files name
    uint32_t number;  // by which the host knows it
    bool keeps;       // is asked which operators are to stay whole
    // True when the host has done what it was asked and, if that has a result, given it by
    // sc_ask_answer; otherwise what it gave is a message. `delegate` is the number of what was
    // started by SC_ASK_INIT, which is ended by SC_ASK_DESTROY; 0 for the others.
    bool (*ask)(uint32_t number, sc_ask *ask, sc_ask_kind kind, uint32_t delegate, sc_str json);
} sc_host_backend;

// A question that waits for its answer.
struct sc_ask {
    sc_ctx *ctx;
    sc_arena arena;  // of the question: the context's scratch is rewound while it is written
    sc_sb text;
    const void *parts;  // of SC_ASK_PREPROCESS: sc_part pointers, in the order of the question
    uint32_t part_count;
    uint64_t done, total;  // of SC_ASK_PREPROCESS: parts before these, and all of the round
    bool is_cancelled;
    void *answer;  // memory of sc_try_alloc, given by the host
    uint32_t json_bytes, bytes;
};

// Begins a question, which sc_ask_end ends and frees, together with its answer.
void sc_ask_begin(sc_ask *ask, sc_ctx *ctx);
void sc_ask_end(sc_ask *ask);
// Asks what stands in `text`, and is SC_ERR_DELEGATE with the message of the host when it failed,
// unless that was because the call was cancelled meanwhile.
sc_status sc_ask_host(sc_ask *ask, const sc_host_backend *host, sc_ask_kind kind,
                      uint32_t delegate);
static inline sc_str sc_ask_json(const sc_ask *ask) {
    return (sc_str){ask->answer, ask->json_bytes};
}

#endif
