// Light, dark, or as the system says. A cookie remembers it, so the server paints the first pixel right.

const NEXT = { "": "dark", dark: "light", light: "" };
const SIGN = { "": "◐", dark: "☾", light: "☀" };
const NAME = { "": "as the system", dark: "dark", light: "light" };

export function switchable(button) {
  const root = document.documentElement;
  const show = (theme) => {
    button.textContent = SIGN[theme];
    button.title = `Theme: ${NAME[theme]}`;
    button.setAttribute("aria-label", button.title);
  };
  button.hidden = false;
  show(root.dataset.theme ?? "");
  button.addEventListener("click", () => {
    const theme = NEXT[root.dataset.theme ?? ""];
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    document.cookie = `clew_theme=${theme}; path=/; samesite=strict; max-age=${theme ? 31536000 : 0}`;
    show(theme);
  });
}
