// The start: effects on, view in.
import { render } from "preact";
import { engine, listen, openFromAddress, report, watchLists, watchTheme } from "./actions.js";
import { app } from "./state.js";
import { App } from "./views/App.js";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/side.css";
import "./styles/start.css";
import "./styles/views.css";
import "./styles/run.css";
import "./styles/small.css";

watchTheme();
watchLists();
listen();
// The engine is fetched and compiled while the page is read.
engine().catch((error: unknown) => {
  // A job that waits for the engine says so itself.
  if (!app.document.value) report(error, null);
});
render(<App />, document.getElementById("app")!);
openFromAddress();
