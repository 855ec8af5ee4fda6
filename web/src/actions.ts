// Every side effect of the page, by subject. Views call these and do nothing else.
export { setPrompt, stopStory, tellStory } from "./actions/demos.js";
export { engine } from "./actions/engine.js";
export {
  findFaces,
  showPicture,
  showSamplePhoto,
  startCamera,
  stopCamera,
  video,
} from "./actions/face.js";
export { cancel } from "./actions/job.js";
export {
  selectNode,
  setSearch,
  showMethod,
  showNode,
  showStep,
  showView,
  sortBy,
  watchLists,
} from "./actions/look.js";
export { lowerAgain, save } from "./actions/lower.js";
export {
  chooseFiles,
  copy,
  goHome,
  listen,
  nextTheme,
  openFromAddress,
  setHelp,
  showSample,
  toggleDock,
  watchTheme,
} from "./actions/page.js";
export { report } from "./actions/problems.js";
export {
  resetState,
  runMethod,
  saveOutput,
  setInput,
  setRepeat,
  takeArrays,
} from "./actions/run.js";
export { STORY_TOKENS } from "./actions/samples.js";
export { renameMethod, setSettings } from "./actions/settings.js";
