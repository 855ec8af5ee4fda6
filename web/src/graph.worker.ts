// A worker that folds graphs and lays them out. It is started when a graph is first looked at.
import type { Port, Request } from "@sconce/worker/messages.js";
import { Server } from "@sconce/worker/server.js";
import { fold, type Folded } from "./graph/fold.js";
import type { Graphs } from "./graph/model.js";
import { place } from "./graph/place.js";

const folded = new Map<string, Folded>();

const graphs: Graphs = {
  take(key, source) {
    folded.set(key, fold(source));
  },
  lay(key, wish) {
    const begin = performance.now();
    const scene = place(folded.get(key)!, wish);
    return { ...scene, ms: performance.now() - begin };
  },
  forget: () => folded.clear(),
};

const port = globalThis as unknown as Port & {
  onmessage: (event: MessageEvent<Request>) => void;
};
const server = new Server(port, graphs, "Graphs");
port.onmessage = ({ data }) => void server.handle(data);
