import type { Flow, Link } from './flow.js';

/** The links and flows that are connected with some links: the change of one can change the rates of all. */
export interface Component {
  readonly links: Link[];
  readonly flows: Flow[];
}

let visits = 0;
let fillings = 0;

/** Adds what is connected with `start`, breadth first; stops when there are more than `most` flows. Returns whether it is complete. */
function gather(start: Link, visit: number, most: number, into: Component): boolean {
  const { links, flows } = into;
  if (start.visit === visit) return true;
  start.visit = visit;
  let next = links.length;
  links.push(start);
  for (; next < links.length; next += 1) {
    for (const flow of links[next]!.flows) {
      if (flow.visit === visit) continue;
      flow.visit = visit;
      flows.push(flow);
      if (flows.length > most) return false;
      for (const link of flow.path) {
        if (link.visit === visit) continue;
        link.visit = visit;
        links.push(link);
      }
    }
  }
  return true;
}

/** The component of one link, or `undefined` if it has more than `most` flows. */
export function componentOf(link: Link, most: number): Component | undefined {
  const component: Component = { links: [], flows: [] };
  visits += 1;
  return gather(link, visits, most, component) ? component : undefined;
}

/** The components of several links together. */
export function componentsOf(links: Iterable<Link>): Component {
  const component: Component = { links: [], flows: [] };
  visits += 1;
  for (const link of links) gather(link, visits, Number.POSITIVE_INFINITY, component);
  return component;
}

/**
 * Max-min fair rates by progressive filling: the link with the smallest equal share is full, so its flows get that
 * share; their rates are taken from the other links that they use, and so on. A link's share only grows while the
 * others are filled, so a heap may hold old, smaller keys, which are corrected when they come to the top.
 */
export function fill({ links, flows }: Component, setRate: (flow: Flow, rate: number) => void): void {
  fillings += 1;
  const heap: Link[] = [];
  for (const link of links) {
    link.left = link.limit;
    link.open = link.flows.length;
    if (link.open === 0) continue;
    link.key = link.left / link.open;
    heap.push(link);
  }
  for (let index = (heap.length >> 1) - 1; index >= 0; index -= 1) sink(heap, index, heap.length);
  let { length } = heap;
  let open = flows.length;
  while (open > 0 && length > 0) {
    const link = heap[0]!;
    const share = link.open === 0 ? Number.POSITIVE_INFINITY : link.left / link.open;
    if (share > link.key) {
      link.key = share;
      if (link.open === 0) {
        length -= 1;
        heap[0] = heap[length]!;
      }
      sink(heap, 0, length);
      continue;
    }
    open -= fillLink(link, share, setRate);
  }
}

/** Gives `share` to all flows of a link that have no rate. Returns their number. */
function fillLink(full: Link, share: number, setRate: (flow: Flow, rate: number) => void): number {
  let count = 0;
  for (const flow of full.flows) {
    if (flow.filled === fillings) continue;
    flow.filled = fillings;
    count += 1;
    setRate(flow, share);
    for (const link of flow.path) {
      link.left = Math.max(0, link.left - share);
      link.open -= 1;
    }
  }
  return count;
}

function sink(heap: Link[], start: number, length: number): void {
  if (start >= length) return;
  const link = heap[start]!;
  let index = start;
  for (;;) {
    let least = 2 * index + 1;
    if (least >= length) break;
    if (least + 1 < length && heap[least + 1]!.key < heap[least]!.key) least += 1;
    if (heap[least]!.key >= link.key) break;
    heap[index] = heap[least]!;
    index = least;
  }
  heap[index] = link;
}
