// Log-in: the token becomes a session that ends; the page keeps nothing.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError } from "../api/client";
import { logIn } from "../api/session";
import { Input } from "../ui/dialog";

export function LogIn(): JSX.Element {
  const [token, setToken] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError("");
    try {
      await logIn(token.trim());
    } catch (failure) {
      const wrong = failure instanceof ApiError && failure.status === 401;
      setError(wrong ? "This token is wrong, has expired, or was revoked." : failure instanceof Error ? failure.message : "Log-in failed.");
    } finally {
      setToken("");
      setBusy(false);
    }
  };
  return (
    <main class="login">
      <form class="card" onSubmit={(event) => void submit(event)}>
        <div class="brand" style={{ padding: "2px 0 14px" }}>
          <svg width="20" height="20" viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="2" aria-hidden="true">
            <path d="M2 7c3 0 3 2 6 2s3-2 6-2 3 1 4 1M2 13c3 0 3 2 6 2s3-2 6-2 3 1 4 1" />
          </svg>
          <h1>Weir</h1>
        </div>
        <Input
          label="Token"
          type="password"
          value={token}
          set={setToken}
          required
          max={1024}
          hint="One made with weir token, or on the screen Tokens. The session ends after 12 hours."
        />
        {error && (
          <div class="note bad" role="alert">
            {error}
          </div>
        )}
        <button type="submit" class="btn p" disabled={busy || token === ""}>
          Log in
        </button>
      </form>
    </main>
  );
}
