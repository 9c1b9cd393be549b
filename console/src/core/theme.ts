// Light or dark: the system's, unless someone chose.
import { signal } from "@preact/signals";

export type Theme = "light" | "dark" | "system";
const name = "weir-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export const theme = signal<Theme>((localStorage.getItem(name) as Theme | null) ?? "system");
/** Counts changes of colours, for what draws with them. */
export const themeChanges = signal(0);

export function chooseTheme(wanted: Theme): void {
  theme.value = wanted;
  if (wanted === "system") {
    localStorage.removeItem(name);
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem(name, wanted);
    document.documentElement.dataset.theme = wanted;
  }
  themeChanges.value++;
}

export const isDark = (): boolean => (theme.value === "system" ? system.matches : theme.value === "dark");

system.addEventListener("change", () => themeChanges.value++);
