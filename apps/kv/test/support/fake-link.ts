import type { Request } from '../../src/cluster/request.js';

/** A link to another server that keeps the requests: the test answers them. */
export class FakeLink {
  readonly isOpen = true;
  isFull = false;
  readonly sent: Request[] = [];
  #changed: () => void = () => {};

  send(request: Request, epoch: number): void {
    request.epoch = epoch;
    this.sent.push(request);
    this.#changed();
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
