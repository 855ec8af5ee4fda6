// An engine and a client for all tests of a file.
import { after } from "node:test";
import { createClient, createEngine, type Client, type Engine } from "sconce";

/** Makes both, and ends them after the last test. */
export async function withBoth(): Promise<{ engine: Engine; client: Client }> {
  const engine = await createEngine();
  const client = await createClient();
  after(() => {
    client.terminate();
    engine.dispose();
  });
  return { engine, client };
}
