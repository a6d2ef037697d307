/** What the pointer does on the canvas. */
export interface Pointed {
  click(x: number, y: number): void;
  /** Moves the window of time by pixels. */
  pan(pixels: number): void;
  /** Changes the window by a factor around a height. */
  zoom(factor: number, y: number): void;
  hover(x: number, y: number): void;
}

/** Movement up to which a press is a click (px). */
const STILL = 5;

/** Listens to drags, pinches, wheel and clicks on a canvas. */
export function listen(canvas: HTMLCanvasElement, pointed: Pointed): void {
  const points = new Map<number, { x: number; y: number }>();
  let travel = 0;
  let spread = 0;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    points.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    if (points.size === 1) travel = 0;
    spread = spreadOf(points);
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = points.get(event.pointerId);
    if (before === undefined) {
      pointed.hover(event.offsetX, event.offsetY);
      return;
    }
    const now = { x: event.offsetX, y: event.offsetY };
    points.set(event.pointerId, now);
    travel += Math.hypot(now.x - before.x, now.y - before.y);
    if (travel <= STILL) return;
    pointed.pan((before.y - now.y) / points.size);
    const next = spreadOf(points);
    if (spread > 0 && next > 0) pointed.zoom(spread / next, middleOf(points));
    spread = next;
  });
  const lift = (event: PointerEvent): void => {
    const known = points.delete(event.pointerId);
    spread = spreadOf(points);
    if (known && event.type === "pointerup" && points.size === 0 && travel <= STILL) {
      pointed.click(event.offsetX, event.offsetY);
    }
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  listenToWheel(canvas, pointed);
}

/** Without Ctrl and without focus the wheel scrolls the page. */
function listenToWheel(canvas: HTMLCanvasElement, pointed: Pointed): void {
  canvas.addEventListener(
    "wheel",
    (event) => {
      const turns = event.ctrlKey || event.metaKey;
      if (!turns && document.activeElement !== canvas) return;
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 16 : 1;
      if (turns) pointed.zoom(Math.exp(event.deltaY * lines * 0.0022), event.offsetY);
      else pointed.pan(event.deltaY * lines);
    },
    { passive: false },
  );
}

function spreadOf(points: Map<number, { x: number; y: number }>): number {
  const [a, b] = [...points.values()];
  return a === undefined || b === undefined ? 0 : Math.hypot(a.x - b.x, a.y - b.y);
}

function middleOf(points: Map<number, { x: number; y: number }>): number {
  return [...points.values()].reduce((sum, point) => sum + point.y, 0) / points.size;
}
