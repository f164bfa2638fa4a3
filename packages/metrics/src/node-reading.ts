import type { Counters } from '@rdmc/dataplane';
import type { Labels } from './family.js';
import {
  type Definition,
  deviceMetric,
  INFO_METRIC,
  PEERS_METRIC,
  PROTOCOL_METRIC,
  WORKER_METRICS,
} from './node-definitions.js';

/** The parts of a node that are measured: `Node`, `RdmcNode`, `HiPowerNode` and nodes of your own protocols have them. */
export interface MeasuredNode {
  /** The id of the node in its mesh: the default label `node`. */
  readonly id: number;
  /** The counters of the worker and its protocols. They can also be read when the node is closed. */
  counters(): Counters;
  /** The device: its kind and name are labels. Its `counters` throw when it is closed. */
  readonly device: { readonly kind: string; readonly name: string; counters(): Record<string, number> };
  /** The mesh: peers by id, which are counted by state. */
  readonly mesh: { readonly peers: ReadonlyMap<number, { readonly state: string }> };
  /** Aborted at the end of the node. */
  readonly signal: AbortSignal;
  /** Resolves when everything of the node is closed. */
  readonly closed: Promise<void>;
}

/** One value of a node. */
export interface Reading {
  readonly definition: Definition;
  readonly labels: Labels;
  readonly value: number;
}

const STATES = ['connected', 'left', 'failed'];

/** The counters of the worker and its protocols; they can also be read when the node is closed. */
export function workerReadings(node: MeasuredNode, labels: Labels): Reading[] {
  const { named, ...counters } = node.counters();
  const readings: Reading[] = [];
  for (const [name, definition] of Object.entries(WORKER_METRICS)) {
    const value = counters[name as keyof typeof counters] / (definition.divisor ?? 1);
    readings.push({ definition, labels, value });
  }
  for (const [name, value] of Object.entries(named)) {
    const dot = name.indexOf('.');
    const own = { protocol: name.slice(0, dot), counter: name.slice(dot + 1) };
    readings.push({ definition: PROTOCOL_METRIC, labels: { ...labels, ...own }, value });
  }
  return readings;
}

/** The counters of the device; none if it is closed. */
export function deviceReadings({ device }: MeasuredNode, labels: Labels): Reading[] {
  try {
    return Object.entries(device.counters()).map(([name, value]) => ({
      definition: deviceMetric(name),
      labels,
      value,
    }));
  } catch {
    return [];
  }
}

/** The state of an open node. */
export function stateReadings({ mesh, device }: MeasuredNode, labels: Labels): Reading[] {
  const states = [...mesh.peers.values()].map(({ state }) => state);
  const peers = STATES.map((state) => ({
    definition: PEERS_METRIC,
    labels: { ...labels, state },
    value: states.filter((each) => each === state).length,
  }));
  const info = { ...labels, device: device.name, kind: device.kind };
  return [...peers, { definition: INFO_METRIC, labels: info, value: 1 }];
}
