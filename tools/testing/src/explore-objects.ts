import { hash } from 'node:crypto';
import { type Exploration, type StateNode, stuckTrace, Transitions, traceOf } from './state-graph.js';

/** A system of which every step from a state can be tried. Its whole state is in its fields. */
export interface ObjectModel {
  /** Names of the steps that are possible now. */
  steps(): string[];
  /** Takes a step; throws if the step is unsafe. */
  take(step: string): void;
  /** Equal for equal states. */
  key(): string;
  /** The run is complete. */
  done(): boolean;
}

interface ExploreOptions {
  /**
   * Runs go to their ends first (default: breadth first). The unsafe step of a wrong variant may be found after far fewer states,
   * with a longer trace.
   */
  readonly deep?: boolean;
}

const MAX_STATES = 400_000;

interface Node extends StateNode {
  /** Until it has been expanded. */
  model: ObjectModel | undefined;
}

/** Visits every reachable state; ends at the first unsafe step. */
export function exploreObjects(initial: ObjectModel, { deep = false }: ExploreOptions = {}): Exploration {
  const nodes: Node[] = [{ from: -1, step: '', isDone: initial.done(), model: initial }];
  const transitions = new Transitions();
  const known = new Map([[digestOf(initial), 0]]);
  const waiting = [0];
  for (let next = 0; next < waiting.length; ) {
    const at = deep ? waiting.pop()! : waiting[next++]!;
    const model = nodes[at]!.model!;
    nodes[at]!.model = undefined;
    const steps = model.steps();
    for (const [index, step] of steps.entries()) {
      // Nobody needs the state itself after its last step.
      const after = index === steps.length - 1 ? model : copyOf(model);
      try {
        after.take(step);
      } catch (error) {
        const trace = [...traceOf(nodes, at), step];
        return { states: nodes.length, unsafe: { reason: String(error), trace }, stuck: undefined };
      }
      const key = digestOf(after);
      let to = known.get(key);
      if (to === undefined) {
        to = nodes.length;
        if (to === MAX_STATES) throw new Error(`more than ${MAX_STATES} states`);
        known.set(key, to);
        nodes.push({ from: at, step, isDone: after.done(), model: after });
        waiting.push(to);
      }
      transitions.add(at, to);
    }
  }
  return { states: nodes.length, unsafe: undefined, stuck: stuckTrace(nodes, transitions) };
}

/** Keys are long, and states are many. */
function digestOf(model: ObjectModel): string {
  return hash('sha256', model.key(), 'base64');
}

/** A copy of an object and everything that it refers to; what is referred to twice is copied once. */
function copyOf<T>(value: T, copies = new Map<unknown, unknown>()): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  const known = copies.get(value);
  if (known !== undefined) return known as T;
  if (value instanceof Uint8Array) return Buffer.from(value) as T;
  if (value instanceof Map) {
    const copy = new Map();
    copies.set(value, copy);
    for (const [key, each] of value) copy.set(key, copyOf(each, copies));
    return copy as T;
  }
  if (value instanceof Set) {
    const copy = new Set();
    copies.set(value, copy);
    for (const each of value) copy.add(copyOf(each, copies));
    return copy as T;
  }
  const copy = Array.isArray(value) ? [] : Object.create(Object.getPrototypeOf(value));
  copies.set(value, copy);
  for (const name of Object.keys(value))
    copy[name] = copyOf((value as Record<string, unknown>)[name], copies);
  return copy as T;
}
