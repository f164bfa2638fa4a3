import { type Subscription, subscription } from '@rdmc/common';
import type { Labels, ScalarFamily } from './family.js';
import { labelKey } from './names.js';
import {
  deviceReadings,
  type MeasuredNode,
  type Reading,
  stateReadings,
  workerReadings,
} from './node-reading.js';

/** A sum of readings with the same metric and labels. */
type Sums = Map<string, { readonly reading: Reading; value: number }>;

interface Member {
  readonly labels: Labels;
  /** The last readings of the device, which cannot be read when it is closed. */
  device: Reading[];
}

/**
 * The nodes that are measured. Nodes with equal labels count as one; counters of nodes that have closed stay in the sums,
 * so that counters do not decrease.
 */
export class NodeSet {
  readonly #open = new Map<MeasuredNode, Member>();
  readonly #closed: Sums = new Map();

  get size(): number {
    return this.#open.size;
  }

  /** Measures a node until it is closed, or the subscription is. A node that is measured already is left as it is. */
  add(node: MeasuredNode, labels: Labels): Subscription {
    if (this.#open.has(node)) return subscription(() => {});
    const member: Member = { labels, device: [] };
    this.#open.set(node, member);
    const lastLook = (): void => this.#readDevice(node, member);
    node.signal.addEventListener('abort', lastLook, { once: true });
    const remove = (): void => {
      node.signal.removeEventListener('abort', lastLook);
      this.#remove(node);
    };
    void node.closed.then(remove);
    return subscription(remove);
  }

  families(): ScalarFamily[] {
    const sums: Sums = new Map();
    for (const { reading, value } of this.#closed.values()) addTo(sums, reading, value);
    const open = [...this.#open].sort(([a], [b]) => a.id - b.id);
    for (const [node, member] of open) {
      this.#readDevice(node, member);
      const readings = [...workerReadings(node, member.labels), ...member.device];
      for (const each of readings) addTo(sums, each, each.value);
      if (node.signal.aborted) continue;
      for (const each of stateReadings(node, member.labels)) addTo(sums, each, each.value);
    }
    return familiesOf(sums);
  }

  #readDevice(node: MeasuredNode, member: Member): void {
    const readings = deviceReadings(node, member.labels);
    if (readings.length > 0) member.device = readings;
  }

  #remove(node: MeasuredNode): void {
    const member = this.#open.get(node);
    if (!member) return;
    this.#readDevice(node, member);
    this.#open.delete(node);
    for (const each of [...workerReadings(node, member.labels), ...member.device]) {
      if (each.definition.type === 'counter') addTo(this.#closed, each, each.value);
    }
  }
}

function addTo(sums: Sums, reading: Reading, value: number): void {
  const key = `${reading.definition.name} ${labelKey(reading.labels)}`;
  const sum = sums.get(key);
  if (sum) sum.value += value;
  else sums.set(key, { reading, value });
}

function familiesOf(sums: Sums): ScalarFamily[] {
  const families = new Map<string, ScalarFamily & { samples: { labels: Labels; value: number }[] }>();
  for (const { reading, value } of sums.values()) {
    const { name, help, type } = reading.definition;
    const family = families.get(name) ?? { name, help, type, samples: [] };
    families.set(name, family);
    family.samples.push({ labels: reading.labels, value });
  }
  return [...families.values()];
}
