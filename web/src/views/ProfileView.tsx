// Time by operator and module: a dump of the official runtime, or one that was recorded here.
import type { JSX } from "preact";
import {
  chooseProfile,
  closeProfile,
  profileHere,
  saveDump,
  saveTrace,
  showProfileLook,
} from "../actions.js";
import { methodNames, runFault } from "../derived.js";
import { profile, ranIn, tickOf } from "../profile.js";
import { app, type Profile, type ProfileLook } from "../state.js";
import { formatCount, sentence } from "../ui/format.js";
import { Figure } from "../ui/parts.js";
import { SearchBox } from "./SearchBox.js";
import { Flame } from "./Flame.js";
import { Compare } from "./ProfileCompare.js";
import { Delegates } from "./ProfileDelegates.js";
import { EventTable } from "./ProfileEvents.js";
import { TotalTable } from "./ProfileTotals.js";
import { formatTime } from "./times.js";

const LOOKS: Readonly<Record<ProfileLook, string>> = {
  flame: "Flame chart",
  events: "Events",
  ops: "By operator",
  modules: "By module",
  delegates: "Delegates",
  compare: "Compare",
};

function Looks(): JSX.Element {
  return (
    <div class="views" role="group" aria-label="Profile as">
      {(Object.entries(LOOKS) as [ProfileLook, string][]).map(([look, title]) => (
        <button
          key={look}
          type="button"
          class="segment"
          aria-pressed={app.profileLook.value === look}
          onClick={() => showProfileLook(look)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

export function RecordButton(): JSX.Element | null {
  if (!app.program.value) return null;
  return (
    <button
      type="button"
      disabled={app.busy.value !== null || runFault.value !== undefined}
      title={
        runFault.value?.message ?? "Runs the method ten times or more and records every instruction"
      }
      onClick={() => void profileHere()}
    >
      Profile {methodNames.value.length > 1 ? <span class="mono">{app.method.value}</span> : null}{" "}
      here
    </button>
  );
}

function Head(props: { shown: Profile }): JSX.Element {
  const { shown } = props;
  return (
    <div class="profile-head">
      <label class="inline">
        <span class="unseen">Profile</span>
        <select
          value={shown.id}
          onChange={(event) => chooseProfile(Number(event.currentTarget.value))}
        >
          {app.profiles.value.map(({ id, title }) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <RecordButton />
      <button type="button" class="quiet" onClick={() => void saveTrace(shown.id)}>
        Save for Perfetto
      </button>
      <button type="button" class="quiet" onClick={() => saveDump(shown.id)}>
        Save .etdp
      </button>
      <button type="button" class="quiet" onClick={() => closeProfile(shown.id)}>
        Close
      </button>
    </div>
  );
}

function Figures(props: { shown: Profile }): JSX.Element {
  const { blocks, report } = props.shown;
  const ran = blocks.filter(({ name, total }) => name === "Execute" && total !== null);
  const scale = report.targetTimeScale;
  const tick = tickOf(props.shown.timeline);
  // A record of another program knows none of the runs.
  const isKnown = report.etrecord !== null && blocks.some(({ method }) => method !== null);
  return (
    <dl class="figures profile-figures">
      {ran.map(({ method, total, runs, bundledInputIndex }, i) => (
        <Figure
          key={i}
          name={`${method ? `${method}, ` : ""}${ran.length > 1 && bundledInputIndex >= 0 ? `case ${bundledInputIndex}, ` : ""}${formatCount(runs)} run${runs === 1 ? "" : "s"}`}
          title={`least ${formatTime(total!.min, scale)}, most ${formatTime(total!.max, scale)}`}
        >
          {formatTime(total!.p50, scale)} <span class="soft">median</span>
        </Figure>
      ))}
      <Figure name="events">{formatCount(report.etdump?.events ?? 0)}</Figure>
      {tick > 0 ? (
        <Figure
          name="clock"
          title="Shorter events begin and end within a step: of those, averages over many runs say more than one run"
        >
          in steps of {formatTime(tick, scale)}
        </Figure>
      ) : null}
      <Figure
        name="operators and modules"
        title={isKnown ? "" : "They are in the .etrecord of the program: drop it"}
      >
        {isKnown ? "from the record" : "not known"}
      </Figure>
    </dl>
  );
}

function Body(props: { shown: Profile }): JSX.Element {
  const { shown } = props;
  const look = app.profileLook.value;
  if (look === "flame") {
    return (
      <>
        <Flame key={shown.id} shown={shown} />
        <EventTable shown={shown} />
      </>
    );
  }
  if (look === "events") return <EventTable shown={shown} />;
  if (look === "delegates") return <Delegates shown={shown} />;
  if (look === "compare") return <Compare />;
  return <TotalTable shown={shown} kind={look} />;
}

/** Events that could not be associated, and advice. */
export function Warnings(props: { shown: Profile }): JSX.Element {
  return (
    <>
      {props.shown.report.warnings.map((warning) => (
        <p key={warning} class="profile-warning">
          {sentence(warning)}
        </p>
      ))}
    </>
  );
}

/** A profile with all ways to look at it, in the pane and in the dock. */
export function ProfilePanel(props: { shown: Profile }): JSX.Element {
  const { shown } = props;
  const isSearched = app.profileLook.value === "flame" || app.profileLook.value === "events";
  return (
    <div class="profile">
      <Head shown={shown} />
      <Figures shown={shown} />
      {ranIn(shown, app.method.value) || !app.method.value ? null : (
        <p class="profile-warning">
          <span class="mono">{app.method.value}</span> was not run in this recording.
        </p>
      )}
      <Warnings shown={shown} />
      <div class="profile-looks">
        <Looks />
        {isSearched ? (
          <SearchBox label="Find events" placeholder="Find: event, operator, node" count="" />
        ) : null}
      </div>
      <Body shown={shown} />
    </div>
  );
}

export function ProfileView(): JSX.Element {
  if (profile.value) return <ProfilePanel shown={profile.value} />;
  return (
    <div class="waiting">
      <p>
        {app.program.value
          ? "No profile yet. Profile here with the inputs of Call, or drop an .etdp file from your device."
          : "Drop an .etdp that the runtime on your device has written."}
      </p>
      <RecordButton />
    </div>
  );
}
