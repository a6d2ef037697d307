/** Choice of colours and size, stored between visits if the browser allows it. */
export interface Look {
  theme: "auto" | "light" | "dark";
  projector: boolean;
}

const PLACE = "farlink-look";

export function loadLook(): Look {
  const look: Look = { theme: "auto", projector: false };
  try {
    const kept = JSON.parse(localStorage.getItem(PLACE) ?? "{}") as Partial<Look>;
    if (kept.theme === "light" || kept.theme === "dark") look.theme = kept.theme;
    look.projector = kept.projector === true;
  } catch {
    // Without storage, or with a damaged entry, the page begins as at the first visit.
  }
  return look;
}

export function keepLook(look: Look): void {
  try {
    localStorage.setItem(PLACE, JSON.stringify(look));
  } catch {
    // The choice is valid for this visit only.
  }
}

/** Applies a look to the page; returns whether it is dark. */
export function applyLook(look: Look): boolean {
  const root = document.documentElement;
  const dark =
    look.theme === "dark" ||
    (look.theme === "auto" && window.matchMedia("(prefers-color-scheme: dark)").matches);
  root.dataset.theme = dark ? "dark" : "light";
  root.classList.toggle("projector", look.projector);
  return dark;
}
