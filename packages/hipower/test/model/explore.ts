import { keyOf } from './memory.js';

/** A system of which every step from a state can be tried. */
export interface Model {
  /** The state, not a copy: the next step changes it. The caller copies it to keep it; most states are known already. */
  current(): Int32Array;
  restore(state: Int32Array): void;
  /** Names of the steps that are possible now. */
  steps(): string[];
  /** Takes a step; throws if the step is unsafe. */
  take(step: string): void;
  /** The run is complete. */
  done(): boolean;
}

export interface Exploration {
  readonly states: number;
  readonly transitions: number;
  /** The first unsafe step, with the steps that lead to it. */
  readonly unsafe: { readonly reason: string; readonly trace: readonly string[] } | undefined;
  /** A state from which `done` cannot be reached, as the steps to it. */
  readonly stuck: readonly string[] | undefined;
}

interface Node {
  readonly state: Int32Array;
  readonly from: number;
  readonly step: string;
  readonly before: number[];
  isDone: boolean;
}

/** Visits every reachable state, breadth first; ends at the first unsafe step. */
export function explore(model: Model, limit = 3_000_000): Exploration {
  const nodes: Node[] = [
    { state: model.current().slice(), from: -1, step: '', before: [], isDone: model.done() },
  ];
  const known = new Map<string, number>([[keyOf(nodes[0]!.state), 0]]);
  let transitions = 0;
  for (let at = 0; at < nodes.length; at += 1) {
    model.restore(nodes[at]!.state);
    for (const step of model.steps()) {
      model.restore(nodes[at]!.state);
      try {
        model.take(step);
      } catch (error) {
        const trace = [...traceOf(nodes, at), step];
        return {
          states: nodes.length,
          transitions,
          unsafe: { reason: String(error), trace },
          stuck: undefined,
        };
      }
      transitions += 1;
      const state = model.current();
      const key = keyOf(state);
      let to = known.get(key);
      if (to === undefined) {
        to = nodes.length;
        if (to === limit) throw new Error(`more than ${limit} states`);
        known.set(key, to);
        nodes.push({ state: state.slice(), from: at, step, before: [], isDone: model.done() });
      }
      nodes[to]!.before.push(at);
    }
  }
  const stuck = firstStuck(nodes);
  return {
    states: nodes.length,
    transitions,
    unsafe: undefined,
    stuck: stuck === -1 ? undefined : traceOf(nodes, stuck),
  };
}

function traceOf(nodes: readonly Node[], at: number): string[] {
  const trace: string[] = [];
  for (let i = at; i > 0; i = nodes[i]!.from) trace.unshift(nodes[i]!.step);
  return trace;
}

/** The first state without a path to a finished one; −1: there is none. */
function firstStuck(nodes: readonly Node[]): number {
  const canFinish = new Uint8Array(nodes.length);
  const work = nodes.flatMap((node, index) => (node.isDone ? [index] : []));
  for (const index of work) canFinish[index] = 1;
  while (work.length > 0) {
    for (const before of nodes[work.pop()!]!.before) {
      if (canFinish[before] === 1) continue;
      canFinish[before] = 1;
      work.push(before);
    }
  }
  return canFinish.indexOf(0);
}
