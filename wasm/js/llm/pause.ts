// Giving the thread back for a moment, so that timers, events and the painting of a page come through.

interface Host {
  setImmediate?(callback: () => void): unknown;
}

/** Resolves when other work of the thread that was due has been done. */
export function pause(): Promise<void> {
  const { setImmediate } = globalThis as Host;
  return new Promise((resolve) => {
    if (setImmediate) return void setImmediate(resolve);
    if (typeof MessageChannel === "undefined") return void setTimeout(resolve);
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}
