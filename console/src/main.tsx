// Where the page begins: learn who is asking, then show the screen that the address names.
import { render } from "preact";
import { App } from "./app";
import { ApiError, needsToken } from "./api/client";
import { loadSession } from "./api/session";
import "./styles.css";

async function begin(): Promise<void> {
  for (let wait = 500; ; wait = Math.min(5000, wait * 2)) {
    try {
      await loadSession();
      return;
    } catch (error) {
      if (needsToken.value || (error instanceof ApiError && error.status === 403)) return;
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

render(<App />, document.getElementById("app")!);
void begin();
