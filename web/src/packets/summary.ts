import type { Span } from "./clock";
import type { Content } from "./content";
import { countIn } from "./layout";
import { timeText } from "./text";

/** Returns a sentence about the packets of a window, for screen readers. */
export function summaryOf(content: Content, span: Span): string {
  const { timeline, path } = content;
  const near = path.places[0]!.names.join(" or ");
  const far = path.places.at(-1)!.names.join(" or ");
  const sent = timeline.groups.filter((group) => {
    const hop = path.hops.get(group.link);
    const column = hop?.columns[group.direction === 0 ? 0 : 1];
    return column === 0 || column === path.places.length - 1;
  });
  const { kinds, lost } = countIn(timeline, sent, span.from, span.from + span.length);
  const from = timeText(Math.max(0, span.from), span.length / 100);
  const to = timeText(span.from + span.length, span.length / 100);
  return (
    `Ladder from ${near} to ${far}, ${from} to ${to}: ${plural(kinds[0]!, "segment")}, ` +
    `${plural(kinds[1]!, "retransmission")}, ` +
    `${plural(kinds[2]! + kinds[3]! + kinds[4]!, "ACK")}, ${lost} lost. ` +
    "Keys: space plays, left and right step, up and down select packets."
  );
}

function plural(count: number, noun: string): string {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}
