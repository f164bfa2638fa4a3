import { Int32List } from './int32-list.js';

/** What a search through all states of a model found. */
export interface Exploration {
  readonly states: number;
  /** The first unsafe step, with the steps that lead to it. */
  readonly unsafe: { readonly reason: string; readonly trace: readonly string[] } | undefined;
  /** The steps to a state from which no complete state can be reached. */
  readonly stuck: readonly string[] | undefined;
}

/** A state in the order in which a search found it; state 0 is the initial one. */
export interface StateNode {
  /** Number of the state from which it was found, and the step to it. */
  readonly from: number;
  readonly step: string;
  /** The run is complete. */
  readonly isDone: boolean;
}

/** The steps between states, each state by its number. */
export class Transitions {
  readonly #from = new Int32List();
  readonly #to = new Int32List();

  get count(): number {
    return this.#to.length;
  }

  add(from: number, to: number): void {
    this.#from.push(from);
    this.#to.push(to);
  }

  /** For each of that many states, those with a step to it. */
  reversed(states: number): (to: number) => Int32Array {
    const ends = new Int32Array(states + 1);
    for (let i = 0; i < this.count; i += 1) ends[this.#to.at(i)]! += 1;
    for (let state = 1; state <= states; state += 1) ends[state]! += ends[state - 1]!;
    // Filled from the end: afterwards each state's end is its begin, which is the end of the state before it.
    const before = new Int32Array(this.count);
    for (let i = 0; i < this.count; i += 1) {
      const to = this.#to.at(i);
      ends[to]! -= 1;
      before[ends[to]!] = this.#from.at(i);
    }
    return (to) => before.subarray(ends[to]!, ends[to + 1]!);
  }
}

/** The steps from the initial state to state `at`. */
export function traceOf(nodes: readonly StateNode[], at: number): string[] {
  const trace: string[] = [];
  for (let i = at; i > 0; i = nodes[i]!.from) trace.unshift(nodes[i]!.step);
  return trace;
}

/** The steps to the first state without a path to a complete one; undefined if every state has a path. */
export function stuckTrace(nodes: readonly StateNode[], transitions: Transitions): string[] | undefined {
  const before = transitions.reversed(nodes.length);
  const canFinish = new Uint8Array(nodes.length);
  const work = nodes.flatMap((node, index) => (node.isDone ? [index] : []));
  for (const index of work) canFinish[index] = 1;
  while (work.length > 0) {
    for (const from of before(work.pop()!)) {
      if (canFinish[from] === 1) continue;
      canFinish[from] = 1;
      work.push(from);
    }
  }
  const stuck = canFinish.indexOf(0);
  return stuck === -1 ? undefined : traceOf(nodes, stuck);
}
