// The start: effects on, view in.
import { render } from "preact";
import {
  engine,
  lookForModels,
  report,
  watchAddress,
  watchDrops,
  watchGraphs,
  watchKeys,
  watchLists,
  watchPlans,
  watchProfiles,
  watchRecord,
  watchTheme,
} from "./actions.js";
import { app } from "./state.js";
import { App } from "./views/App.js";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/spine.css";
import "./styles/views.css";
import "./styles/settings.css";
import "./styles/delegates.css";
import "./styles/lists.css";
import "./styles/canvas.css";
import "./styles/profile.css";
import "./styles/memory.css";
import "./styles/program.css";
import "./styles/run.css";
import "./styles/talk.css";
import "./styles/face.css";
import "./styles/quantized.css";
import "./styles/inspector.css";
import "./styles/dock.css";
import "./styles/start.css";
import "./styles/overlay.css";
import "./styles/small.css";

watchTheme();
watchLists();
watchGraphs();
watchProfiles();
watchRecord();
watchPlans();
watchKeys();
watchDrops();
// The engine is fetched and compiled while the page is read.
engine().catch((error: unknown) => {
  // A task that waits for the engine says so itself.
  if (!app.document.value) report(error, null);
});
render(<App />, document.getElementById("app")!);
watchAddress();
void lookForModels();
