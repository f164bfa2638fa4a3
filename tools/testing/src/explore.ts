import { keyOf } from './model-memory.js';
import { type Exploration, type StateNode, stuckTrace, traceOf } from './state-graph.js';

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

interface CountedExploration extends Exploration {
  readonly transitions: number;
}

interface Node extends StateNode {
  readonly state: Int32Array;
}

/** Visits every reachable state, breadth first; ends at the first unsafe step. */
export function explore(model: Model, limit = 3_000_000): CountedExploration {
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
  return {
    states: nodes.length,
    transitions,
    unsafe: undefined,
    stuck: stuckTrace(nodes),
  };
}
