import { INTERNAL_SESSION } from '../../src/cluster/internal-session.js';
import { SlotTable } from '../../src/cluster/slot-table.js';
import { createCommandTable } from '../../src/commands/table.js';
import type { CommitLog } from '../../src/log/commit-log.js';
import type { MonitorOptions } from '../../src/monitor/monitor.js';
import { RequestParser } from '../../src/resp/parser.js';
import { Executor } from '../../src/server/executor.js';
import type { Chunk, Sink } from '../../src/server/sink.js';
import { Keyspace } from '../../src/store/keyspace.js';
import { Store } from '../../src/store/store.js';
import { encodeCommand } from './encode.js';
import { viewOf } from './manual-server.js';

const commands = createCommandTable();

/** An executor over a log, without connections: each turn runs some commands. */
export class CommandRunner implements Sink {
  readonly version = 2;
  readonly executor: Executor;
  readonly lease = { valid: true };
  readonly #parser = new RequestParser();
  #chunks: Chunk[] = [];
  #replies = '';

  /** @param over a log of its own, or another client of the same server */
  constructor(over: CommitLog | CommandRunner, monitor?: MonitorOptions, isCollecting?: () => boolean) {
    if (over instanceof CommandRunner) {
      this.executor = over.executor;
      return;
    }
    const view = viewOf(SlotTable.of(0), 0, monitor);
    const store = new Store(new Keyspace(), over);
    this.executor = new Executor(store, this.lease, view, () => {}, isCollecting);
  }

  get store(): Store {
    return this.executor.store;
  }

  get keyspace(): Keyspace {
    return this.store.keyspace;
  }

  /** Runs commands in one turn; the replies are in `replies` when the log has acknowledged their writes. */
  turn(...lines: readonly (readonly string[] | Buffer)[]): void {
    this.executor.begin(this);
    for (const line of lines) {
      this.#parser.feed(Buffer.isBuffer(line) ? line : encodeCommand(line));
      this.#parser.next();
      const args = this.#parser.arguments;
      this.executor.run(commands.findOfServer(args)!, args, INTERNAL_SESSION);
    }
    this.executor.endRun();
    this.executor.end();
  }

  /** The same for one command whose reply does not wait. */
  run(...words: readonly string[]): string {
    this.turn(words);
    return this.replies();
  }

  /** The replies that may be sent; they are told once. */
  replies(): string {
    this.flush(this.store.acknowledged, Number.POSITIVE_INFINITY);
    const replies = this.#replies;
    this.#replies = '';
    return replies;
  }

  take(chunk: Chunk): void {
    this.#chunks.push(chunk);
  }

  flush(acknowledged: number, turn: number): boolean {
    while (this.#chunks[0]?.isReady(acknowledged, turn)) {
      this.#replies += this.#chunks.shift()!.bytes!.toString('latin1');
    }
    return this.#chunks.length > 0;
  }

  refuse(which: (chunk: Chunk) => boolean, error: string, all: boolean): void {
    this.#chunks = this.#chunks.map((chunk) => (which(chunk) ? chunk.failed(error, all) : chunk));
  }
}
