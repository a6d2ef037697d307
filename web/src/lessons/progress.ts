// Answered lessons, kept in the browser if it allows that.

const KEY = "farlink-lessons";

/** Names of answered lessons. */
export class Progress {
  #answered: Set<string>;

  constructor() {
    this.#answered = new Set(stored());
  }

  has(lesson: string): boolean {
    return this.#answered.has(lesson);
  }

  add(lesson: string): void {
    this.#answered.add(lesson);
    try {
      localStorage.setItem(KEY, JSON.stringify([...this.#answered]));
    } catch {
      // Without storage the progress lasts as long as the page.
    }
  }
}

function stored(): string[] {
  try {
    const names: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
  } catch {
    return [];
  }
}
