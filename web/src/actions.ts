// Every side effect of the page, by subject. Views call these and do nothing else.
export { goHome, showSample, watchAddress } from "./actions/address.js";
export { setTolerance, takeCase, verifyCases } from "./actions/cases.js";
export { chooseFiles, chooseTokenizer, watchDrops } from "./actions/drops.js";
export { engine } from "./actions/engine.js";
export { saveRecord, takeRecordInputs, watchRecord } from "./actions/etrecord.js";
export { cancel } from "./actions/task.js";
export {
  closeBox,
  followNode,
  foldGraph,
  openBox,
  selectBox,
  showMatch,
  watchGraphs,
} from "./actions/graph.js";
export { watchKeys } from "./actions/keys.js";
export {
  selectNode,
  setSearch,
  showMethod,
  showNode,
  showPart,
  showStep,
  showView,
  sortBy,
  watchLists,
} from "./actions/look.js";
export { lowerAgain, save } from "./actions/lower.js";
export { copy, setHelp, toggleDock } from "./actions/page.js";
export { report } from "./actions/problems.js";
export { selectPlanned, watchPlans } from "./actions/planned.js";
export {
  chooseProfile,
  closeProfile,
  compareProfiles,
  saveDump,
  saveTrace,
  selectEvent,
  setReference,
  showProfileLook,
  watchProfiles,
} from "./actions/profiles.js";
export { compareHere, profileHere } from "./actions/recording.js";
export {
  resetState,
  runMethod,
  saveOutput,
  setInput,
  setRepeat,
  takeArrays,
} from "./actions/run.js";
export { isHere, lookForModels, STORY_TOKENS } from "./actions/samples.js";
export {
  renameMethod,
  setBackend,
  setBound,
  setConstants,
  setOption,
  settingsFault,
  setVerifies,
  showBounds,
  showSettings,
} from "./actions/settings.js";
export { newTalk, setDraft, setTalkSetting, stopTalk } from "./actions/talking.js";
export { nextTheme, watchTheme } from "./actions/theme.js";
export { SEED_MAX } from "./actions/values.js";
