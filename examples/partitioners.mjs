// Partitioners of one's own, to import or to copy:
// npx sconce lower model.pt2 -o model.pte --import partitioners.mjs --backend inTurn

/**
 * Gives each linear layer a part of its own, to XNNPACK and to the null backend in turn.
 * @type {import("sconce").OwnPartitioner}
 */
export const inTurn = {
  partition({ graph }) {
    const backends = ["xnnpack", "null"];
    const layers = [...graph.nodes].filter(({ target }) => /^aten::(addmm|mm)$/.test(target));
    return {
      tags: layers.map((node, i) => ({
        tag: `linear${i}`,
        backend: backends[i % 2],
        nodes: [node],
      })),
    };
  },
};

/**
 * Puts each activation into one part with the linear layer before it, and leaves the rest outside.
 * @type {import("sconce").OwnPartitioner}
 */
export const linearPairs = {
  partition({ graph }) {
    const activations = [...graph.find("aten::gelu"), ...graph.find("aten::tanh")];
    const tags = activations.flatMap((activation, i) => {
      const [layer] = activation.inputs;
      if (layer?.target !== "aten::addmm") return [];
      return [{ tag: `pair${i}`, backend: "xnnpack", nodes: [layer, activation] }];
    });
    return { tags };
  },
};
