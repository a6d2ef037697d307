// Expressions of lessons: arithmetic, comparisons and words over measures and settings. The grammar
// is a part of Python's, because `tools/lessons.py` reads the same expressions.

import type { Value } from "./quantity";
import { halfWidth, mean } from "./student";

export type Expression =
  | { kind: "constant"; value: number | string }
  | { kind: "call"; name: string; arguments: Expression[] }
  | { kind: "not" | "minus"; operand: Expression }
  | { kind: "and" | "or"; operands: Expression[] }
  | { kind: "arithmetic"; operator: string; left: Expression; right: Expression }
  | { kind: "comparison"; operators: string[]; operands: Expression[] };

/** Source of the values that an expression names. */
export interface Scope {
  /** Number of runs. */
  runs: number;
  tcps: string[];
  setting(path: string): Value;
  /** Metric of a flow, link direction, agent or run; NaN if there was nothing to measure. */
  metric(name: string, places: string[], run: number): number;
}

const TOKEN = /\s*(?:(\d+\.?\d*(?:[eE][-+]?\d+)?)|('[^']*'|"[^"]*")|([A-Za-z_]\w*)|([<>=!]=|[-+*/()<>,]))/y;
const COMPARISONS = ["<", "<=", ">", ">=", "==", "!="];
const DEEPEST = 50;

/** Reads an expression. The error names what cannot be read. */
export function parse(text: string): Expression {
  return new Parser(tokens(text), text).whole();
}

/** Returns the paths whose settings an expression asks for. */
export function settingsOf(expression: Expression): string[] {
  if (expression.kind === "call") {
    const [first] = expression.arguments;
    if (expression.name === "setting" && first?.kind === "constant") return [String(first.value)];
    return expression.arguments.flatMap(settingsOf);
  }
  if ("operand" in expression) return settingsOf(expression.operand);
  if ("operands" in expression) return expression.operands.flatMap(settingsOf);
  if ("left" in expression) return [expression.left, expression.right].flatMap(settingsOf);
  return [];
}

/** Returns the value of an expression for a run. */
export function evaluate(expression: Expression, scope: Scope, run = 0): Value {
  switch (expression.kind) {
    case "constant":
      return expression.value;
    case "not":
      return !evaluate(expression.operand, scope, run);
    case "minus":
      return -Number(evaluate(expression.operand, scope, run));
    case "and":
      return expression.operands.every((operand) => Boolean(evaluate(operand, scope, run)));
    case "or":
      return expression.operands.some((operand) => Boolean(evaluate(operand, scope, run)));
    case "arithmetic": {
      const left = Number(evaluate(expression.left, scope, run));
      return arithmetic(expression.operator, left, Number(evaluate(expression.right, scope, run)));
    }
    case "comparison": {
      const values = expression.operands.map((operand) => evaluate(operand, scope, run));
      return expression.operators.every((operator, k) =>
        compare(operator, values[k]!, values[k + 1]!),
      );
    }
    case "call":
      return call(expression.name, expression.arguments, scope, run);
  }
}

function call(name: string, inputs: Expression[], scope: Scope, run: number): Value {
  if (name === "mean" || name === "half_width") {
    const runs = Array.from({ length: scope.runs }, (_, k) => k);
    const values = runs.map((k) => Number(evaluate(inputs[0]!, scope, k)));
    return name === "mean" ? mean(values) : halfWidth(values);
  }
  const values = inputs.map((input) => evaluate(input, scope, run));
  const numbers = values.map(Number);
  if (name === "setting") return scope.setting(String(values[0]));
  if (name === "min") return Math.min(...numbers);
  if (name === "max") return Math.max(...numbers);
  if (name === "abs") return Math.abs(numbers[0] ?? NaN);
  if (name === "runs") return scope.runs;
  if (name === "tcps") return scope.tcps.join(",");
  return scope.metric(name, values.map(String), run);
}

function arithmetic(operator: string, left: number, right: number): number {
  if (operator === "+") return left + right;
  if (operator === "-") return left - right;
  return operator === "*" ? left * right : left / right;
}

function compare(operator: string, left: Value, right: Value): boolean {
  if (operator === "==") return left === right;
  if (operator === "!=") return left !== right;
  const [a, b] = [Number(left), Number(right)];
  if (operator === "<") return a < b;
  if (operator === "<=") return a <= b;
  return operator === ">" ? a > b : a >= b;
}

interface Token {
  kind: "number" | "text" | "name" | "sign" | "end";
  text: string;
}

function tokens(text: string): Token[] {
  const found: Token[] = [];
  const source = text.trimEnd();
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < source.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(source);
    if (!match) throw new Error(`${text}: ${source.slice(at)} is no part of an expression`);
    const [, number, quoted, name, sign] = match;
    if (number !== undefined) found.push({ kind: "number", text: number });
    else if (quoted !== undefined) found.push({ kind: "text", text: quoted.slice(1, -1) });
    else if (name !== undefined) found.push({ kind: "name", text: name });
    else found.push({ kind: "sign", text: sign ?? "" });
  }
  return [...found, { kind: "end", text: "the end" }];
}

class Parser {
  #tokens: Token[];
  #text: string;
  #next = 0;
  #depth = 0;

  constructor(list: Token[], text: string) {
    this.#tokens = list;
    this.#text = text;
  }

  whole(): Expression {
    const expression = this.#or();
    if (this.#peek().kind !== "end") throw this.#unexpected();
    return expression;
  }

  #peek(): Token {
    return this.#tokens[this.#next]!;
  }

  #unexpected(): Error {
    return new Error(`${this.#text}: ${this.#peek().text} is not expected here`);
  }

  /** Consumes the next token if it is one of these words or signs. */
  #accept(...texts: string[]): string | undefined {
    const token = this.#peek();
    if ((token.kind !== "sign" && token.kind !== "name") || !texts.includes(token.text)) return;
    this.#next += 1;
    return token.text;
  }

  #expect(text: string): void {
    if (this.#accept(text) === undefined) throw this.#unexpected();
  }

  #or(): Expression {
    if (++this.#depth > DEEPEST) throw new Error(`${this.#text}: too deep`);
    const operands = [this.#and()];
    while (this.#accept("or")) operands.push(this.#and());
    this.#depth -= 1;
    return operands.length === 1 ? operands[0]! : { kind: "or", operands };
  }

  #and(): Expression {
    const operands = [this.#not()];
    while (this.#accept("and")) operands.push(this.#not());
    return operands.length === 1 ? operands[0]! : { kind: "and", operands };
  }

  #not(): Expression {
    let negations = 0;
    while (this.#accept("not")) negations += 1;
    const operand = this.#comparison();
    return negations % 2 ? { kind: "not", operand } : operand;
  }

  #comparison(): Expression {
    const operands = [this.#sum()];
    const operators: string[] = [];
    for (;;) {
      const operator = this.#accept(...COMPARISONS);
      if (operator === undefined) break;
      operators.push(operator);
      operands.push(this.#sum());
    }
    return operators.length ? { kind: "comparison", operators, operands } : operands[0]!;
  }

  #sum(): Expression {
    return this.#chain(["+", "-"], () => this.#chain(["*", "/"], () => this.#unary()));
  }

  #chain(operators: string[], operand: () => Expression): Expression {
    let left = operand();
    for (;;) {
      const operator = this.#accept(...operators);
      if (operator === undefined) return left;
      left = { kind: "arithmetic", operator, left, right: operand() };
    }
  }

  #unary(): Expression {
    if (this.#accept("-")) {
      if (++this.#depth > DEEPEST) throw new Error(`${this.#text}: too deep`);
      const operand = this.#unary();
      this.#depth -= 1;
      return { kind: "minus", operand };
    }
    return this.#primary();
  }

  #primary(): Expression {
    if (this.#accept("(")) {
      const inner = this.#or();
      this.#expect(")");
      return inner;
    }
    const token = this.#peek();
    if (token.kind === "end" || token.kind === "sign") throw this.#unexpected();
    this.#next += 1;
    if (token.kind === "number") return { kind: "constant", value: Number(token.text) };
    if (token.kind === "text") return { kind: "constant", value: token.text };
    return { kind: "call", name: token.text, arguments: this.#arguments() };
  }

  #arguments(): Expression[] {
    const inputs: Expression[] = [];
    if (!this.#accept("(")) return inputs;
    if (this.#accept(")")) return inputs;
    do inputs.push(this.#or());
    while (this.#accept(","));
    this.#expect(")");
    return inputs;
  }
}
