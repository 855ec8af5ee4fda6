// Views that come when they are looked at: nobody waits for their scripts before the first model.
import { signal } from "@preact/signals";
import type { JSX } from "preact";

type View = () => JSX.Element | null;

/** A view whose module is fetched when it is first shown. */
export function later(load: () => Promise<View>): View {
  const loaded = signal<View | "failed" | null>(null);
  const fetchIt = (): void => {
    loaded.value = null;
    load().then(
      (found) => (loaded.value = found),
      () => (loaded.value = "failed"),
    );
  };
  let isAsked = false;
  return function Later() {
    if (!isAsked) fetchIt();
    isAsked = true;
    const View = loaded.value;
    if (View === null) return <div class="waiting" aria-busy="true" />;
    if (View !== "failed") return <View />;
    return (
      <div class="waiting">
        <p>The script of this view could not be fetched.</p>
        <button type="button" onClick={fetchIt}>
          Try again
        </button>
      </div>
    );
  };
}
