// Settings of a conversation: their names, the values that they take, and the options they become.
import type { GenerateOptions } from "@sconce/llm/types.js";
import type { TalkSettings } from "./state.js";

type NumberName = Exclude<keyof TalkSettings, "system">;

interface Row {
  label: string;
  /** The meaning of an empty field. */
  empty: string;
  /** The values that it takes, as in "Type a number from 0 on". */
  accepts: string;
  isRight: (value: number) => boolean;
}

const isWhole = (value: number, least: number): boolean =>
  Number.isSafeInteger(value) && value >= least;

export const SETTINGS: Readonly<Record<NumberName, Row>> = {
  temperature: {
    label: "Temperature",
    empty: "0",
    accepts: "a number from 0 on, such as 0.7",
    isRight: (value) => value >= 0,
  },
  topK: {
    label: "Top-k",
    empty: "all tokens",
    accepts: "a whole number from 1 on, such as 40",
    isRight: (value) => isWhole(value, 1),
  },
  topP: {
    label: "Top-p",
    empty: "1",
    accepts: "a number above 0 and at most 1, such as 0.9",
    isRight: (value) => value > 0 && value <= 1,
  },
  minP: {
    label: "Min-p",
    empty: "0",
    accepts: "a number from 0 to 1, such as 0.05",
    isRight: (value) => value >= 0 && value <= 1,
  },
  seed: {
    label: "Seed",
    empty: "a new one each time",
    accepts: "a whole number from 0 on",
    isRight: (value) => isWhole(value, 0),
  },
  maxNewTokens: {
    label: "Most new tokens",
    empty: "as the context holds",
    accepts: "a whole number from 1 on",
    isRight: (value) => isWhole(value, 1),
  },
};

export const SETTING_NAMES = Object.keys(SETTINGS) as NumberName[];

/** The fault of a setting as it was typed; empty if there is none. */
export function settingFault(settings: TalkSettings, name: NumberName): string {
  const text = settings[name].trim();
  const value = Number(text);
  const { accepts, isRight } = SETTINGS[name];
  return text === "" || (Number.isFinite(value) && isRight(value)) ? "" : `Type ${accepts}.`;
}

export const hasFault = (settings: TalkSettings): boolean =>
  SETTING_NAMES.some((name) => settingFault(settings, name) !== "");

/** Options of the settings that are not empty. */
export function optionsOf(settings: TalkSettings): GenerateOptions {
  const given = SETTING_NAMES.filter((name) => settings[name].trim() !== "");
  return Object.fromEntries(given.map((name) => [name, Number(settings[name])]));
}
