// The frame around every screen: navigation, who is logged in, notes, dialogs.
import type { FunctionComponent, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, lostSince, needsToken, session } from "./api/client";
import { has, logOut } from "./api/session";
import type { Overview } from "./api/types";
import { concerns, overview } from "./core/overview";
import { usePoll } from "./core/poll";
import { href, place } from "./core/router";
import { chooseTheme, isDark, themeChanges } from "./core/theme";
import { DialogHost } from "./ui/dialog";
import { LostServer, Note, Toast } from "./ui/notes";
import { Now } from "./screens/now";
import { Rules } from "./screens/rules";
import { RulePage } from "./screens/rule";
import { SubjectPage } from "./screens/subject";
import { Decisions } from "./screens/decisions";
import { Quotas } from "./screens/quotas";
import { AccountPage } from "./screens/account";
import { Overrides } from "./screens/overrides";
import { Blocks } from "./screens/blocks";
import { Tenants } from "./screens/tenants";
import { Keys } from "./screens/keys";
import { Change } from "./screens/change";
import { Audit } from "./screens/audit";
import { Tokens } from "./screens/tokens";
import { LogIn } from "./screens/login";

interface Screen {
  path: string;
  title: string;
  show: FunctionComponent;
  detail?: FunctionComponent<{ id: string }>;
  line?: boolean;
  /** The route without which there is nothing to show. */
  needs?: string;
}

const screens: Screen[] = [
  { path: "", title: "Now", show: Now },
  { path: "rules", title: "Rules", show: Rules, detail: RulePage, needs: "GET /rules/list" },
  { path: "subject", title: "Subject", show: SubjectPage, needs: "POST /subjects/lookup" },
  { path: "decisions", title: "Decisions", show: Decisions, needs: "GET /decisions" },
  { path: "quotas", title: "Quotas", show: Quotas, detail: AccountPage },
  { path: "overrides", title: "Overrides", show: Overrides, line: true, needs: "GET /overrides" },
  { path: "blocks", title: "Blocks", show: Blocks, needs: "GET /blocks" },
  { path: "tenants", title: "Tenants", show: Tenants, detail: Keys, needs: "GET /tenants" },
  { path: "change", title: "Change", show: Change, needs: "GET /rules" },
  { path: "audit", title: "Audit", show: Audit, line: true, needs: "GET /audit" },
  { path: "tokens", title: "Tokens", show: Tokens, needs: "GET /tokens" },
];

const isThere = (screen: Screen): boolean => !screen.needs || has(screen.needs);

export function App(): JSX.Element {
  if (needsToken.value) return <LogIn />;
  if (!session.value) return <Waiting />;
  return <Frame />;
}

function Waiting(): JSX.Element {
  return <main class="login">{lostSince.value === null ? <p class="small">Loading</p> : <LostServer />}</main>;
}

function Frame(): JSX.Element {
  const { path } = place.value;
  const screen = screens.find((each) => each.path === (path[0] ?? ""));
  const onNow = screen?.path === "";
  useBackgroundOverview(onNow);
  useEffect(() => {
    document.title = screen ? `${path[1] ?? screen.title} · Weir` : "Weir";
  }, [screen, path[1]]);
  return (
    <div class={`app ${lostSince.value === null ? "" : "lost"}`}>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Side current={screen} />
      <main id="main" tabIndex={-1}>
        <LostServer />
        <Content screen={screen} detail={path[1]} />
      </main>
      <DialogHost />
      <Toast />
    </div>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Content(props: { screen: Screen | undefined; detail: string | undefined }): JSX.Element {
  const { screen, detail } = props;
  if (!screen || (detail !== undefined && !screen.detail)) {
    return (
      <Note kind="info">
        There is nothing at this address. <a href={href()}>Go to Now</a>
      </Note>
    );
  }
  if (detail !== undefined && screen.detail) return <screen.detail key={detail} id={detail} />;
  return <screen.show />;
}

// The count of concerns, and whether the server is there, on screens that do not show the overview anyway.
function useBackgroundOverview(onNow: boolean): void {
  const polled = usePoll<Overview | null>(
    onNow ? "none" : "background",
    (signal) => (onNow ? Promise.resolve(null) : get<Overview>("/overview", { range: "5m" }, signal)),
    onNow ? 0 : 15_000,
  );
  useEffect(() => {
    if (polled.data) overview.value = polled.data;
  }, [polled.data]);
}

function Side(props: { current: Screen | undefined }): JSX.Element {
  const [unfolded, unfold] = useState(false);
  const found = concerns(overview.value);
  return (
    <header class={`side ${unfolded ? "unfolded" : ""}`}>
      <div>
        <div class="brand">
          <svg width="20" height="20" viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="2" aria-hidden="true">
            <path d="M2 7c3 0 3 2 6 2s3-2 6-2 3 1 4 1M2 13c3 0 3 2 6 2s3-2 6-2 3 1 4 1" />
          </svg>
          Weir
          <button type="button" class="btn s" aria-expanded={unfolded ? "true" : "false"} onClick={() => unfold(!unfolded)}>
            Menu
          </button>
        </div>
        <nav aria-label="Screens" onClick={() => unfold(false)}>
          {screens.filter(isThere).map((each) => (
            <>
              {each.line && <hr />}
              <a href={each.path ? href(each.path) : href()} aria-current={each === props.current ? "page" : undefined}>
                {each.title}
                {each.path === "" && found.length > 0 && (
                  <b title={found.join(", ")} aria-label={`${found.length} need attention`}>
                    {found.length}
                  </b>
                )}
              </a>
            </>
          ))}
        </nav>
        <Who />
      </div>
    </header>
  );
}

function Who(): JSX.Element {
  const who = session.value!;
  void themeChanges.value;
  const next = isDark() ? "light" : "dark";
  return (
    <div class="who">
      <div>
        <b>{who.actor}</b>, {who.role}
      </div>
      <div title={`node ${who.node}`}>Weir {who.version}</div>
      <div class="row">
        <button type="button" class="btn s" onClick={() => chooseTheme(next)}>
          {next === "dark" ? "Dark" : "Light"}
        </button>
        {!who.open && (
          <button type="button" class="btn s" onClick={() => void logOut()}>
            Log out
          </button>
        )}
      </div>
    </div>
  );
}
