// Backends and operators that the host of the library implements, for example in JavaScript. A
// question to the host is a kind, a delegate, and JSON. Its answer is JSON and the bytes that the
// JSON refers to.
//
// A file contains the host's bytes of a part unchanged, so that the backend's own runtime on
// another device reads them.
// Prefix: sc_host_ is a backend of the host, sc_host_question_ a question to it.
#ifndef SC_HOST_BACKEND_H
#define SC_HOST_BACKEND_H

#include "base/diag.h"
#include "base/str.h"

enum { SC_HOST_ALIGN_MAX = 1 << 24 };

typedef enum sc_host_question_kind {
#define QUESTION(NAME) SC_HOST_QUESTION_##NAME,
#include "backends/host/question.def"
#undef QUESTION
} sc_host_question_kind;

typedef struct sc_host_question sc_host_question;

// How hosts implement a backend. The strings and the struct are copied.
typedef struct sc_host_backend {
    sc_str id;        // the id in files
    uint32_t number;  // the number by which the host knows it
    bool keeps;       // the host wants to be asked which operators stay whole
    // Asks the host. True if it has succeeded and has passed its result, if any, to
    // sc_host_question_answer. Otherwise it has passed a message. `delegate` is the number that
    // SC_HOST_QUESTION_INIT started and SC_HOST_QUESTION_DESTROY ends; 0 for the other questions.
    bool (*ask)(uint32_t number, sc_host_question *question, sc_host_question_kind kind,
                uint32_t delegate, sc_str json);
} sc_host_backend;

// How hosts implement an operator of the user's own.
typedef struct sc_host_operator {
    sc_str schema;    // in PyTorch's notation
    sc_str overload;  // of the variant that a file calls; empty: the usual one
    uint32_t number;  // the number by which the host knows it
    bool runs;        // the host has a kernel
    bool infers;      // the host knows the sizes of results
    // As that of a backend. `delegate` is 0.
    bool (*ask)(uint32_t number, sc_host_question *question, sc_host_question_kind kind,
                uint32_t delegate, sc_str json);
} sc_host_operator;

// A question that waits for its answer.
struct sc_host_question {
    sc_ctx *ctx;
    sc_arena arena;  // the question's own arena: the context's scratch is rewound while the
                     // question is written
    sc_sb text;
    // SC_HOST_QUESTION_PREPROCESS alone: sc_part pointers, in the order of the question; then the
    // number of earlier parts, and of all parts of the round.
    const void *parts;
    uint32_t part_count;
    uint64_t done, total;
    bool is_cancelled;
    // Finds named data of the program, for SC_HOST_QUESTION_INIT; NULL for the others.
    sc_status (*named)(sc_host_question *question, sc_str key, const uint8_t **bytes,
                       uint64_t *size);
    // Lists it: [{"key", "bytes"}], on the question's arena. All parts of a program have the same
    // list, so that the host asks for it once, and not with each part.
    sc_str (*names)(sc_host_question *question);
    void *named_user;
    void *answer;  // memory of sc_try_alloc, given by the host
    uint32_t json_bytes, bytes;
};

// Begins a question, which sc_host_question_end ends and frees, together with its answer.
void sc_host_question_begin(sc_host_question *question, sc_ctx *ctx);
void sc_host_question_end(sc_host_question *question);
// Asks the question in `text`. If the host fails: SC_ERR_DELEGATE with its message, unless it
// failed because the call was cancelled meanwhile.
sc_status sc_host_ask(sc_host_question *question, const sc_host_backend *host,
                      sc_host_question_kind kind, uint32_t delegate);
static inline sc_str sc_host_answer_json(const sc_host_question *question) {
    return (sc_str){question->answer, question->json_bytes};
}

#endif
