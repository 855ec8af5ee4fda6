// sconce docs: this documentation, served from the installed package without a network.
import { defineCommand } from "../shell/command.js";
import { docsSite, SERVER_FLAGS, serveSite } from "./studio.js";

export const DOCS = defineCommand({
  name: "docs",
  summary: "serves the documentation for your browser, without a network",
  examples: ["sconce docs", "sconce docs --port 8080 --open"],
  files: "",
  flags: SERVER_FLAGS,
  run: (values) => serveSite(docsSite(), { kind: "docs", title: "The documentation is" }, values),
});
