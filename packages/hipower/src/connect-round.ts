import { Deferred } from '@rdmc/common';
import type { AcceptMessage } from './wire-messages.js';

/**
 * A requester's attempt to connect to its responders, in one generation. A late answer finds the round over
 * and is ignored, so an answer of an earlier generation is never taken for one of the next.
 */
export class ConnectRound {
  readonly #failed = new Deferred<never>();
  /** Undefined: the responder does not need a connection any longer. */
  readonly #accepts: ReadonlyMap<number, Deferred<AcceptMessage | undefined>>;
  readonly #answered = new Set<number>();
  #failure: { readonly error: unknown } | undefined;

  constructor(
    readonly generation: number,
    members: readonly number[],
    /** A member's answer was refused by the worker. */
    private readonly onRefusal: (member: number, error: unknown) => void = () => {},
  ) {
    this.#accepts = new Map(members.map((id) => [id, new Deferred()]));
  }

  /** Rejects with the error that ended the round. */
  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  /** Members that have not answered. */
  get missing(): number[] {
    return [...this.#accepts.keys()].filter((id) => !this.#answered.has(id));
  }

  /** Resolves with a member's answer, or with undefined if the member was dismissed. */
  acceptOf(member: number): Promise<AcceptMessage | undefined> {
    return this.#accepts.get(member)!.promise;
  }

  accepted(member: number, message: AcceptMessage): void {
    this.#answered.add(member);
    this.#accepts.get(member)?.resolve(message);
  }

  dismissed(member: number): void {
    this.#answered.add(member);
    this.#accepts.get(member)?.resolve(undefined);
  }

  /** The worker could not use a member's answer. */
  unusable(member: number, error: unknown): void {
    if (!this.#failure) this.onRefusal(member, error);
  }

  /** Ends the round; the first reason counts. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#failed.reject(error);
  }

  /** Call it after every wait. @throws the error that ended the round */
  check(): void {
    if (this.#failure) throw this.#failure.error;
  }
}
