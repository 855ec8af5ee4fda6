// The frame: top bar, spine, pane, inspector, dock. Before anything is open, the start page.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { app } from "../state.js";
import { Dock } from "./Dock.js";
import { Help } from "./Help.js";
import { Inspector } from "./Inspector.js";
import { MethodTabs } from "./MethodTabs.js";
import { Spine } from "./Spine.js";
import { Pane } from "./Pane.js";
import { Start } from "./Start.js";
import { TopBar } from "./TopBar.js";

/** The pane or the first screen; who opens something goes on from there, not from the top. */
function Main(props: { isOpen: boolean }): JSX.Element {
  const { isOpen } = props;
  const main = useRef<HTMLElement>(null);
  const wasOpen = useRef(isOpen);
  useEffect(() => {
    if (wasOpen.current !== isOpen) main.current!.focus({ preventScroll: true });
    wasOpen.current = isOpen;
  }, [isOpen]);
  return (
    <main ref={main} id={isOpen ? "pane" : "start"} tabIndex={-1}>
      {isOpen ? <Pane /> : <Start />}
    </main>
  );
}

export function App(): JSX.Element {
  const isOpen = app.document.value !== null;
  return (
    <div class={isOpen ? "frame is-open" : "frame"}>
      <TopBar />
      {isOpen ? (
        <>
          <Spine />
          <MethodTabs />
        </>
      ) : null}
      <Main isOpen={isOpen} />
      {isOpen ? <Inspector /> : null}
      <Dock />
      <Help />
      {app.dragging.value ? (
        <div class="drop-veil">
          <p>Drop to open</p>
        </div>
      ) : null}
    </div>
  );
}
