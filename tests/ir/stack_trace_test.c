// Which frame of a Python traceback is the user's own line.
#include "core/stack_trace.h"

#include "harness.h"

#define OWN       "  File \"/home/me/net.py\", line 12, in forward\n    return self.fc(x)\n"
#define INSTALLED "  File \"/usr/lib/site-packages/torch/nn.py\", line 5, in call\n    go(y)\n"
#define LIBRARY   "  File \"/usr/site-packages/llama/model.py\", line 9, in run\n    self.q(x)\n"

TEST_CASES(the_innermost_frame_that_is_not_installed_is_shown) {
    static const char *const cases[][2] = {
        {OWN, "net.py:12 in forward: return self.fc(x)"},
        {"File \"net.py\", line 12, in forward", "net.py:12 in forward"},
        {"  File \"a.py\", line 1, in run\n    f(x)\n" OWN,
         "net.py:12 in forward: return self.fc(x)"},
        {OWN INSTALLED, "net.py:12 in forward: return self.fc(x)"},
        {INSTALLED OWN INSTALLED, "net.py:12 in forward: return self.fc(x)"},
        {"  File \"net.py\", line 3, in f\n" INSTALLED, "net.py:3 in f"},
        {LIBRARY INSTALLED, "model.py:9 in run: self.q(x)"},
        {INSTALLED LIBRARY INSTALLED, "model.py:9 in run: self.q(x)"},
        {LIBRARY OWN LIBRARY INSTALLED, "net.py:12 in forward: return self.fc(x)"},
        {INSTALLED, "nn.py:5 in call: go(y)"},
        {LIBRARY "  File \"C:\\dist-packages\\torch\\ops.py\", line 7, in g\n    h()\n",
         "model.py:9 in run: self.q(x)"},
        {LIBRARY "  File \"/usr/site-packages/torchaudio/a.py\", line 7, in g\n    h()\n",
         "a.py:7 in g: h()"},
        {INSTALLED "  File \"C:\\py\\dist-packages\\x\\ops.py\", line 7, in g\n    h()\n",
         "ops.py:7 in g: h()"},
        {"  File \"my-packages-of-mine.py\", line 7, in g\n    h()\n    ^^^\n",
         "my-packages-of-mine.py:7 in g: h()"},
        {"  File \"<string>\", line 2, in <module>\n", "<string>:2 in <module>"},
        {OWN "  File \"<eval_with_key>.12\", line 6, in forward\n    sin = torch._C.sin(x)\n",
         "net.py:12 in forward: return self.fc(x)"},
        {"  File \"a.py\", line 2", "a.py:2"},
        {"  File \"a.py", ""},
        {"File \"", ""},
        {"line 7", ""},
        {"", ""},
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        if (!test_case("%zu", i)) continue;
        sc_arena arena;
        sc_arena_init(&arena);
        sc_str line = sc_stack_trace_source(&arena, sc_str_from(cases[i][0]));
        CHECK_EQ_TEXT(line.data, line.size, cases[i][1]);
        sc_arena_deinit(&arena);
    }
}
