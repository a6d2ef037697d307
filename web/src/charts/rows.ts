import type { Run, Table, Values } from "../engine";

/** Columns of the rows that a picture shows, as real numbers. */
export type Rows = Record<string, Float64Array> & { time: Float64Array };

const cache = new WeakMap<Table, Map<string, Rows>>();
const EMPTY = new Float64Array(0);

/** Returns the rows of a table whose columns have the given values, from a cache of each table. */
export function rowsOf(run: Run, name: string, where: Record<string, number>, own: string[]): Rows {
  const table = run.tables[name];
  if (!table) return empty(own);
  const key = JSON.stringify([where, own]);
  let known = cache.get(table);
  if (!known) cache.set(table, (known = new Map<string, Rows>()));
  let rows = known.get(key);
  if (!rows) known.set(key, (rows = pick(table, where, own)));
  return rows;
}

/** Returns the name of a value of a column, such as a cause of a loss. */
export function nameOf(run: Run, table: string, column: string, value: number): string {
  return run.tables[table]?.names[column]?.[value] ?? String(value);
}

/** Returns the number of a name in a column; -1 if the column has no such name. */
export function numberOf(run: Run, table: string, column: string, name: string): number {
  return run.tables[table]?.names[column]?.indexOf(name) ?? -1;
}

/** Indices of the rows that `pick` keeps, reused from call to call. */
let scratch = new Uint32Array(1 << 16);

function pick(table: Table, where: Record<string, number>, own: string[]): Rows {
  if (scratch.length < table.rows) scratch = new Uint32Array(2 * table.rows);
  const index = scratch;
  let count = table.rows;
  let all = true;
  for (const [name, value] of Object.entries(where)) {
    const column = table.columns[name];
    if (!column) continue;
    let kept = 0;
    if (all) {
      for (let row = 0; row < count; row++) if (column[row] === value) index[kept++] = row;
    } else {
      for (let n = 0; n < count; n++) if (column[index[n]!] === value) index[kept++] = index[n]!;
    }
    all = false;
    count = kept;
  }
  const rows = empty(own);
  for (const name of ["time", ...own]) {
    const column = table.columns[name];
    if (!column) continue;
    rows[name] = all || count === table.rows ? whole(column) : chosen(column, index, count);
  }
  return rows;
}

function whole(column: Values): Float64Array {
  return column instanceof Float64Array ? column : Float64Array.from(column);
}

function chosen(column: Values, index: Uint32Array, count: number): Float64Array {
  const values = new Float64Array(count);
  for (let n = 0; n < count; n++) values[n] = column[index[n]!]!;
  return values;
}

function empty(own: string[]): Rows {
  const rows: Rows = { time: EMPTY };
  for (const name of own) rows[name] = EMPTY;
  return rows;
}
