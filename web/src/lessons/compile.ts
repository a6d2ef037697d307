// Makes a lesson of a file of web/lessons: TOML between two lines `+++`, then Markdown. The build
// does this, so that the page has neither a reader of TOML nor one of Markdown.

import { type Token, type Tokens, lexer } from "marked";
import { parse as parseToml } from "smol-toml";
import { parse } from "./expression";
import { type Control, type Lesson, SECTIONS, type SectionName, type Text } from "./lesson";

type Table = Record<string, unknown>;

/** Reads a lesson. `library` returns the text of a scenario of the library by its name. */
export function compile(file: string, source: string, library: (name: string) => string): Lesson {
  const name = /(\d+)-([\w-]+)\.md$/.exec(file);
  const match = /^\+\+\+\n([\s\S]*?)\n\+\+\+\n([\s\S]*)$/.exec(source);
  if (!name || !match) throw new Error(`${file}: write TOML between two lines '+++', then Markdown`);
  const head = parseToml(match[1]!) as Table;
  const scenario = String(head.scenario);
  const lesson: Lesson = {
    name: name[2]!,
    number: Number(name[1]),
    title: String(head.title),
    summary: String(head.summary),
    minutes: Number(head.minutes),
    tcps: (head.tcps as unknown[]).map(String),
    runs: Number(head.runs ?? 1),
    views: (head.views as unknown[]).map(String),
    scenario: scenario.includes("\n") ? scenario : library(scenario),
    controls: (head.controls as Table[]).map(control),
    readouts: (head.readouts as Table[]).map((readout) => ({
      label: String(readout.label),
      value: String(readout.value),
      unit: written(readout.unit),
    })),
    check: check(head.check as Table),
    solution: texts(head.solution as Table),
    sections: sections(file, match[2]!),
  };
  const expressions = lesson.readouts.map((readout) => readout.value);
  expressions.push(lesson.check.pass, ...lesson.check.hints.flatMap((hint) => hint.if ?? []));
  for (const expression of expressions) parse(expression);
  return lesson;
}

function check(table: Table): Lesson["check"] {
  const hints = (table.hints as Table[]).map((hint) => ({
    text: String(hint.text),
    ...(hint.if === undefined ? {} : { if: written(hint.if) }),
  }));
  return { pass: String(table.pass), hints };
}

/** Returns a value as text, and nothing as the empty text. */
function written(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "" : JSON.stringify(value);
}

function texts(table: Table): Record<string, string> {
  return Object.fromEntries(Object.entries(table).map(([key, value]) => [key, String(value)]));
}

function control(table: Table): Control {
  const made: Control = {
    path: String(table.path),
    also: ((table.also ?? []) as unknown[]).map(String),
    label: String(table.label),
    unit: written(table.unit),
    number: table.number === true,
  };
  for (const key of ["min", "max", "step"] as const) {
    if (table[key] !== undefined) made[key] = Number(table[key]);
  }
  if (table.values) made.values = (table.values as unknown[]).map(String);
  if (table.names) made.names = (table.names as unknown[]).map(String);
  return made;
}

function sections(file: string, markdown: string): Record<SectionName, Text[]> {
  const parts = markdown.split(/^## (.+)\n/m).slice(1);
  const titles = parts.filter((_, place) => place % 2 === 0).map((title) => title.trim());
  if (titles.join() !== SECTIONS.join()) {
    throw new Error(`${file}: sections ${titles.join(", ")}; write ${SECTIONS.join(", ")}`);
  }
  const made: Partial<Record<SectionName, Text[]>> = {};
  SECTIONS.forEach((title, place) => {
    made[title] = elements(lexer(parts[2 * place + 1]!), file);
  });
  return made as Record<SectionName, Text[]>;
}

const TAGS: Record<string, string> = {
  paragraph: "p",
  strong: "strong",
  em: "em",
  blockquote: "blockquote",
};

function elements(tokens: Token[], file: string): Text[] {
  return tokens.flatMap((token) => element(token, file));
}

function element(token: Token, file: string): Text[] {
  const inner = (): Text[] => elements((token as Tokens.Paragraph).tokens, file);
  const tag = TAGS[token.type];
  if (tag) return [{ tag, children: inner() }];
  switch (token.type) {
    case "space":
      return [];
    case "text":
    case "escape":
      return "tokens" in token && token.tokens ? inner() : [plain((token as Tokens.Text).text)];
    case "heading":
      return [{ tag: "h3", children: inner() }];
    case "codespan":
      return [{ tag: "code", children: [(token as Tokens.Codespan).text] }];
    case "code":
      return [{ tag: "pre", children: [(token as Tokens.Code).text] }];
    case "hr":
      return [{ tag: "hr", children: [] }];
    case "link":
      return [{ tag: "a", href: address((token as Tokens.Link).href, file), children: inner() }];
    case "list":
      return [list(token as Tokens.List, file)];
    case "table":
      return [table(token as Tokens.Table, file)];
    default:
      throw new Error(`${file}: ${token.type} is no text of a lesson: ${token.raw.trim()}`);
  }
}

/** Undoes line breaks of the file. */
function plain(text: string): string {
  return text.replace(/\n/g, " ");
}

function address(href: string, file: string): string {
  if (!/^(https:\/\/|#)/.test(href)) throw new Error(`${file}: link to ${href}; write https://...`);
  return href;
}

function list(token: Tokens.List, file: string): Text {
  const items = token.items.map((item) => ({ tag: "li", children: elements(item.tokens, file) }));
  if (!token.ordered) return { tag: "ul", children: items };
  return { tag: "ol", start: Number(token.start), children: items };
}

function table(token: Tokens.Table, file: string): Text {
  const row = (tag: string, cells: Tokens.TableCell[]): Text => ({
    tag: "tr",
    children: cells.map((cell) => ({ tag, children: elements(cell.tokens, file) })),
  });
  return {
    tag: "table",
    children: [
      { tag: "thead", children: [row("th", token.header)] },
      { tag: "tbody", children: token.rows.map((cells) => row("td", cells)) },
    ],
  };
}
