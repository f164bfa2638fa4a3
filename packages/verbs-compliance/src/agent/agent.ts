import { ComplianceError } from '../errors.js';
import { deviceCalls } from './device-calls.js';
import { programCalls } from './programs.js';
import { queueCalls } from './queue-calls.js';
import { regionCalls } from './region-calls.js';
import { AgentState } from './state.js';
import { streamCalls } from './streams.js';

function allCalls(state: AgentState) {
  return {
    ...deviceCalls(state),
    ...regionCalls(state),
    ...queueCalls(state),
    ...programCalls(state),
    ...streamCalls(state),
  };
}

/** Calls of a peer: name → (arguments → result), all of it structured-cloneable. */
export type AgentCalls = ReturnType<typeof allCalls>;
export type CallName = keyof AgentCalls;
export type CallArguments<N extends CallName> = Parameters<AgentCalls[N]> extends [infer A] ? A : undefined;
export type CallResult<N extends CallName> = Awaited<ReturnType<AgentCalls[N]>>;

/**
 * Drives a device on behalf of the tests. The tests do not use a device directly: they call an agent in their
 * own thread, in a worker or in another process, in the same way in all three.
 */
export class Agent {
  readonly #calls = allCalls(new AgentState());

  async handle<N extends CallName>(name: N, args: CallArguments<N>): Promise<CallResult<N>> {
    const call = this.#calls[name] as ((args: unknown) => unknown) | undefined;
    if (!call)
      throw new ComplianceError(
        'ERR_RDMC_COMPLIANCE_SPEC',
        `A peer does not have the call '${String(name)}'`,
      );
    return (await call(args)) as CallResult<N>;
  }
}

/** A call to an agent, and its answer. */
export interface CallMessage {
  readonly id: number;
  readonly name: CallName;
  readonly args: unknown;
}
