import type { Asker } from '../../src/cluster/peer-link.js';
import type { Receiver, Request } from '../../src/cluster/request.js';

/** Waits for whatever comes, and does not count it. */
export const RECEIVER: Receiver = { hold: () => true };

/** A link to another server that keeps the requests: the test answers them. */
export class FakeLink {
  readonly isOpen = true;
  isFull = false;
  readonly sent: Request[] = [];
  readonly #askers = new Map<Request, Asker>();
  #changed: () => void = () => {};

  send(request: Request, epoch: number, asker: Asker): void {
    request.epoch = epoch;
    this.sent.push(request);
    this.#askers.set(request, asker);
    this.#changed();
  }

  answer(request: Request, reply: string | Buffer): void {
    this.#askers.get(request)!.answered(request);
    request.done(Buffer.from(reply));
  }

  refuse(request: Request): void {
    this.#askers.get(request)!.refused(request);
  }

  lose(request: Request): void {
    this.#askers.get(request)!.lost(request);
  }

  /** The next request. */
  async next(): Promise<Request> {
    while (this.sent.length === 0) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
    return this.sent.shift()!;
  }
}

/** The words of a request's command. */
export function wordsOf({ bytes }: Request): string[] {
  return bytes
    .toString()
    .split('\r\n')
    .filter((_, index) => index > 0 && index % 2 === 0);
}
