// The frame: top bar, spine, stage, inspector, dock. Before anything is open, the start page.
import type { JSX } from "preact";
import { app } from "../state.js";
import { Dock } from "./Dock.js";
import { Help } from "./Help.js";
import { Inspector } from "./Inspector.js";
import { MethodTabs } from "./MethodTabs.js";
import { Spine } from "./Spine.js";
import { Stage } from "./Stage.js";
import { Start } from "./Start.js";
import { TopBar } from "./TopBar.js";

export function App(): JSX.Element {
  const isOpen = app.document.value !== null;
  return (
    <div class={isOpen ? "frame is-open" : "frame"}>
      <TopBar />
      {isOpen ? (
        <>
          <MethodTabs />
          <Spine />
          <main id="stage">
            <Stage />
          </main>
          <Inspector />
        </>
      ) : (
        <main id="start">
          <Start />
        </main>
      )}
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
