// Calls that vmap makes for each sample, as many as a graph may have of them, and more.
#include "harness.h"
#include "lowering.h"

// Calls without a rule, added up, in a batch of the most samples that are made one by one.
static char *program_of(uint32_t calls) {
    setup s;
    sc_sb text;
    setup_begin(&s);
    sc_sb_init(&text, &s.arena);
    sc_sb_add_text(&text, "method forward {\n  input %x: f32[32, 2]\n"
                          "  open: () = functorch::_vmap_increment_nesting(32, \"error\")\n"
                          "  %a: f32[2] = functorch::_add_batch_dim(%x, 0, 1)\n");
    for (uint32_t i = 0; i < calls; i++) {
        sc_sb_addf(&text, "  %%c%u: i64[2] = aten::searchsorted.Tensor(%%a, %%a)\n", i);
        sc_sb_addf(&text, "  %%s%u: i64[2] = aten::add.Tensor(%%%c%u, %%c%u)\n", i, i ? 's' : 'c',
                   i ? i - 1 : 0, i);
    }
    sc_sb_addf(&text,
               "  %%y: i64[32, 2] = functorch::_remove_batch_dim(%%s%u, 1, 32, 0)\n"
               "  close: () = functorch::_vmap_decrement_nesting()\n  return %%y\n}\n",
               calls - 1);
    char *copy = test_format("%s", sc_sb_terminate(&text));
    setup_end(&s);
    return copy;
}

static sc_status lowered(setup *s, uint32_t calls) {
    sc_program *program;
    setup_begin(s);
    if (!CHECK_OK(sc_program_parse(&s->ctx, sc_str_from(program_of(calls)), &program)))
        return SC_ERR_INTERNAL;
    return lower_step(s, program, SC_STEP_decompose);
}

TEST(calls_for_each_sample_are_bounded_over_all_of_a_graph) {
    setup s;
    CHECK_OK(sc_ops_init());
    CHECK_OK(lowered(&s, 1));
    setup_end(&s);
    CHECK_STATUS(lowered(&s, 1025), SC_ERR_LIMIT);
    const sc_str reported = s.ctx.diags.count ? s.ctx.diags.data[0].message : (sc_str){0};
    CHECK(sc_str_starts_with(reported, "torch.vmap makes more than 32768 calls"));
    setup_end(&s);
}
