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
  /** Numbers of all states with a step to it. */
  readonly before: number[];
  /** The run is complete. */
  readonly isDone: boolean;
}

/** The steps from the initial state to state `at`. */
export function traceOf(nodes: readonly StateNode[], at: number): string[] {
  const trace: string[] = [];
  for (let i = at; i > 0; i = nodes[i]!.from) trace.unshift(nodes[i]!.step);
  return trace;
}

/** The steps to the first state without a path to a complete one; undefined if every state has a path. */
export function stuckTrace(nodes: readonly StateNode[]): string[] | undefined {
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
  const stuck = canFinish.indexOf(0);
  return stuck === -1 ? undefined : traceOf(nodes, stuck);
}
