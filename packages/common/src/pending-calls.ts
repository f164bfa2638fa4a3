const MAX_ID = 0xffff_ffff;

interface Call<Answer, Party> {
  readonly party: Party;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Calls that were sent and have not been answered, by number: from 1 to 2^32 − 1, then from 1 again, without those that
 * are still waited for. `Party` is what the caller keeps with a call, for example whom it asked.
 */
export class PendingCalls<Answer = unknown, Party = undefined> {
  readonly #calls = new Map<number, Call<Answer, Party>>();
  #last = 0;
  #end: { readonly error: unknown } | undefined;

  /** How many calls are unanswered. */
  get size(): number {
    return this.#calls.size;
  }

  /** Whether the call with this number is unanswered. */
  has(id: number): boolean {
    return this.#calls.has(id);
  }

  /** What is kept with a call; undefined where it is not waited for any more. */
  party(id: number): Party | undefined {
    return this.#calls.get(id)?.party;
  }

  /** Begins a call: `send` is called at once with its number. Rejects with what `send` throws, or with the error of `end`. */
  start(party: Party, send: (id: number) => void): Promise<Answer> {
    if (this.#end) return Promise.reject(this.#end.error);
    const id = this.#number();
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { party, resolve, reject });
      try {
        send(id);
      } catch (error) {
        this.reject(id, error);
      }
    });
  }

  /** False where the call is not waited for any more: an answer that came too late, or twice. */
  resolve(id: number, answer: Answer): boolean {
    const call = this.#take(id);
    call?.resolve(answer);
    return call !== undefined;
  }

  /** As `resolve`. */
  reject(id: number, error: unknown): boolean {
    const call = this.#take(id);
    call?.reject(error);
    return call !== undefined;
  }

  /** Rejects the calls of some parties; without `isOf`, all. */
  rejectAll(error: unknown, isOf: (party: Party) => boolean = () => true): void {
    for (const [id, { party }] of [...this.#calls]) if (isOf(party)) this.reject(id, error);
  }

  /** Nobody will answer any more: rejects all calls, and from now on every other one. The first error stays. */
  end(error: unknown): void {
    this.#end ??= { error };
    this.rejectAll(this.#end.error);
  }

  #take(id: number): Call<Answer, Party> | undefined {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    return call;
  }

  #number(): number {
    do this.#last = this.#last === MAX_ID ? 1 : this.#last + 1;
    while (this.#calls.has(this.#last));
    return this.#last;
  }
}
