import { type Exploration, type StateNode, stuckTrace, Transitions, traceOf } from './state-graph.js';
import { StateTable } from './state-table.js';

/** A system of which every step from a state can be tried. */
export interface Model {
  /** The state, not a copy: the next step changes it. It has always the same length. */
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

/** Visits every reachable state, breadth first; ends at the first unsafe step. */
export function explore(model: Model, limit = 3_000_000): CountedExploration {
  const known = new StateTable(model.current().length);
  known.numberOf(model.current());
  const nodes: StateNode[] = [{ from: -1, step: '', isDone: model.done() }];
  const transitions = new Transitions();
  for (let at = 0; at < nodes.length; at += 1) {
    const state = known.at(at);
    model.restore(state);
    for (const step of model.steps()) {
      model.restore(state);
      try {
        model.take(step);
      } catch (error) {
        const unsafe = { reason: String(error), trace: [...traceOf(nodes, at), step] };
        return { states: nodes.length, transitions: transitions.count, unsafe, stuck: undefined };
      }
      const to = known.numberOf(model.current());
      if (to === limit) throw new Error(`more than ${limit} states`);
      if (to === nodes.length) nodes.push({ from: at, step, isDone: model.done() });
      transitions.add(at, to);
    }
  }
  const stuck = stuckTrace(nodes, transitions);
  return { states: nodes.length, transitions: transitions.count, unsafe: undefined, stuck };
}
