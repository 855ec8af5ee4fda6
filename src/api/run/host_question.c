// Calls that the host may make while it answers a question about a delegate: read named data, and
// answer. Questions about parts are answered, too, by the same call.
#include "sconce.h"

void sc_host_question_answer(sc_host_question *question, void *answer, uint32_t json_bytes,
                             uint32_t bytes) {
    sc_free(question->answer);
    question->answer = answer;
    question->json_bytes = json_bytes;
    question->bytes = bytes;
}

const uint8_t *sc_host_question_named(sc_host_question *question, sc_str key, uint64_t *bytes) {
    const uint8_t *found = NULL;
    *bytes = 0;
    return question->named && question->named(question, key, &found, bytes) == SC_OK ? found : NULL;
}

const char *sc_host_question_names(sc_host_question *question) {
    return question->names ? sc_str_dup(&question->arena, question->names(question)) : "[]";
}
