import type { ModelMemory } from '@rdmc/testing';

/** A request on the requester's queue pair: kind, slot or snapshot, message, generation, state, count of posted writes. */
const At = { KIND: 0, ARGUMENT: 1, MESSAGE: 2, GENERATION: 3, STATE: 4, UP_TO: 5 } as const;
const REQUEST_WORDS = 6;
export const Kind = { WRITE: 1, PUSH: 2, END: 3 } as const;
const State = { QUEUED: 0, PLACING: 1, PLACED: 2, PLACING_END: 3 } as const;
/** A PUSH with this instead of a message carries the end. */
const WITH_END = 1;
export const NO_MESSAGE = -1;

export interface Request {
  readonly kind: number;
  /** The slot of a WRITE, the bits of a PUSH. */
  readonly argument: number;
  readonly message: number;
  readonly generation: number;
  /** Writes that the requester had posted then. */
  readonly upTo: number;
}

/** Where the device places the requests. */
export interface RequestTarget {
  /** The payload of a WRITE is there in part, and then as a whole. */
  tear(slot: number): void;
  write(request: Request): void;
  push(bits: number): void;
  pushEnd(): void;
  /** The end of a channel with immediates. */
  end(): void;
}

/** The requests on a queue pair: each is placed in steps, in order or not, and completes at the head of the queue. */
export class RequestQueue {
  readonly #words: Int32Array;
  readonly #count: Int32Array;

  constructor(
    memory: ModelMemory,
    most: number,
    private readonly ordersWrites: boolean,
  ) {
    this.#words = memory.take(REQUEST_WORDS * most);
    this.#count = memory.take(1);
  }

  get pushes(): number {
    let pushes = 0;
    for (let i = 0; i < this.#count[0]!; i += 1) if (this.#kind(i) === Kind.PUSH) pushes += 1;
    return pushes;
  }

  append(request: Request): void {
    const at = this.#count[0]! * REQUEST_WORDS;
    if (at >= this.#words.length) throw new Error('the model needs a longer queue');
    const { kind, argument, message, generation, upTo } = request;
    this.#words.set([kind, argument, message, generation, State.QUEUED, upTo], at);
    this.#count[0]! += 1;
  }

  appendPush(bits: number, withEnd: boolean, generation: number, upTo: number): void {
    const message = withEnd ? WITH_END : NO_MESSAGE;
    this.append({ kind: Kind.PUSH, argument: bits, message, generation, upTo });
  }

  addSteps(add: (possible: boolean, step: string) => void): void {
    for (let i = 0; i < this.#count[0]!; i += 1) {
      const state = this.#state(i);
      const isPush = this.#kind(i) === Kind.PUSH;
      if (state !== State.PLACED) add(state !== State.PLACING || !isPush, `place ${i}`);
      add(isPush && this.#hasEnd(i) && (state === State.QUEUED || state === State.PLACING), `placeEnd ${i}`);
      if (state !== State.PLACED && this.ordersWrites) break;
    }
  }

  /** Whether the first request can complete: it was placed, and belongs to this connection. */
  mayComplete(generation: number): boolean {
    const isPlaced = this.#count[0]! > 0 && this.#words[At.STATE] === State.PLACED;
    return isPlaced && this.#words[At.GENERATION] === generation;
  }

  /** The next step of the device with a request. */
  place(i: number, target: RequestTarget): void {
    const request = this.#at(i);
    const state = this.#state(i);
    let next: number = State.PLACED;
    if (request.kind === Kind.PUSH) {
      target.push(request.argument);
      if (this.#hasEnd(i) && state === State.QUEUED) next = State.PLACING;
    } else if (request.kind === Kind.END) target.end();
    else if (state === State.QUEUED) {
      target.tear(request.argument);
      next = State.PLACING;
    } else target.write(request);
    this.#words[i * REQUEST_WORDS + At.STATE] = next;
  }

  placeEnd(i: number, target: RequestTarget): void {
    target.pushEnd();
    const next = this.#state(i) === State.PLACING ? State.PLACED : State.PLACING_END;
    this.#words[i * REQUEST_WORDS + At.STATE] = next;
  }

  /** Takes the first request out. */
  complete(): Request {
    const request = this.#at(0);
    this.#words.copyWithin(0, REQUEST_WORDS);
    this.#words.fill(0, this.#words.length - REQUEST_WORDS);
    this.#count[0]! -= 1;
    return request;
  }

  clear(): void {
    this.#words.fill(0);
    this.#count[0] = 0;
  }

  #at(i: number): Request {
    const at = i * REQUEST_WORDS;
    const [kind, argument, message, generation, , upTo] = this.#words.subarray(at, at + REQUEST_WORDS);
    return {
      kind: kind!,
      argument: argument!,
      message: message!,
      generation: generation!,
      upTo: upTo!,
    };
  }

  #kind(i: number): number {
    return this.#words[i * REQUEST_WORDS + At.KIND]!;
  }

  #state(i: number): number {
    return this.#words[i * REQUEST_WORDS + At.STATE]!;
  }

  #hasEnd(i: number): boolean {
    return this.#words[i * REQUEST_WORDS + At.MESSAGE] === WITH_END;
  }
}
