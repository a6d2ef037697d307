/** Time under the pointer, which all pictures show. */
export class Cursor {
  #time: number | undefined;
  readonly #calls = new Set<() => void>();

  get time(): number | undefined {
    return this.#time;
  }

  set(time: number | undefined): void {
    if (time === this.#time) return;
    this.#time = time;
    for (const call of this.#calls) call();
  }

  onChange(call: () => void): void {
    this.#calls.add(call);
  }
}
