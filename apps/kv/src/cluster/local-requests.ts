import type { CommandTable } from '../commands/command-table.js';
import { RequestParser } from '../resp/parser.js';
import type { RespVersion } from '../resp/writer.js';
import type { Executor } from '../server/executor.js';
import type { Chunk, Sink } from '../server/sink.js';
import { INTERNAL_SESSION } from './internal-session.js';
import { type Request, UNWANTED } from './request.js';

/** Runs requests whose slot this server itself serves by now. */
export class LocalRequests implements Sink {
  version: RespVersion = 2;
  readonly #parser = new RequestParser();
  #waiting: { chunk: Chunk; request: Request }[] = [];
  #current: Request | undefined;

  constructor(
    private readonly executor: Executor,
    private readonly commands: CommandTable,
  ) {}

  /** No run may be open. */
  run(request: Request): void {
    this.version = request.version;
    this.#current = request;
    this.executor.begin(this);
    this.#parser.feed(request.bytes);
    const command = this.#parser.next() ? this.commands.findOfServer(this.#parser.arguments) : undefined;
    if (command) this.executor.run(command, this.#parser.arguments, INTERNAL_SESSION);
    else this.executor.fail('ERR unknown command');
    this.executor.endRun();
  }

  /**
   * The reply counts as output of its client from now on, and as effort of the turn: many requests may run in one turn. A short one
   * is kept also where the client has gone: FLUSHALL goes on as long as the reply to each step is a number.
   */
  take(chunk: Chunk): void {
    const request = this.#current!;
    const { length } = chunk.bytes!;
    this.executor.spendOnReply(length);
    if (!request.receiver.hold(length) && length > UNWANTED.length) chunk.bytes = UNWANTED;
    this.#waiting.push({ chunk, request });
  }

  flush(acknowledged: number, turn: number): boolean {
    const all = this.#waiting;
    this.#waiting = all.filter(({ chunk }) => !chunk.isReady(acknowledged, turn));
    for (const { chunk, request } of all) {
      if (!chunk.isReady(acknowledged, turn)) continue;
      request.receiver.hold(-chunk.bytes!.length);
      request.done(chunk.bytes!);
    }
    return this.#waiting.length > 0;
  }

  refuse(which: (chunk: Chunk) => boolean, error: string): void {
    this.#waiting = this.#waiting.map(({ chunk, request }) => {
      if (!which(chunk)) return { chunk, request };
      const failed = chunk.failed(error, true);
      request.receiver.hold(failed.bytes!.length - chunk.bytes!.length);
      return { chunk: failed, request };
    });
  }
}
