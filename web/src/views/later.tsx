// Views that come when they are looked at: nobody waits for their scripts before the first model.
import { signal } from "@preact/signals";
import type { JSX } from "preact";

type View = () => JSX.Element | null;

/** A view whose module is fetched when it is first shown. */
export function later(load: () => Promise<View>): View {
  const loaded = signal<View | "failed" | null>(null);
  const fetchIt = (): void => {
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
    if (View === null) return <div class="waiting" role="status" aria-busy="true" />;
    if (View !== "failed") return <View />;
    // Browsers remember a module that failed, so that only the page itself can be fetched again.
    return (
      <div class="waiting" role="status">
        <p>The script of this view could not be fetched. Reload the page to try again.</p>
      </div>
    );
  };
}
