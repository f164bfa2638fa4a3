import type { LogEntry } from '@rdmc/tailwind';
import type { AdminService } from '../../src/admin/admin-service.js';
import type { PeerLinks } from '../../src/cluster/peer-links.js';
import { Router } from '../../src/cluster/router.js';
import { SlotTable } from '../../src/cluster/slot-table.js';
import { createCommandTable } from '../../src/commands/table.js';
import type { CommitLog, CommitTicket } from '../../src/log/commit-log.js';
import type { MonitorOptions } from '../../src/monitor/monitor.js';
import { View } from '../../src/node/view.js';
import { ClientPort } from '../../src/server/client-port.js';
import { ClientSet } from '../../src/server/client-set.js';
import { Executor } from '../../src/server/executor.js';
import { RespServer } from '../../src/server/resp-server.js';
import { Keyspace } from '../../src/store/keyspace.js';
import { logEntries } from '../../src/store/record.js';
import { Store } from '../../src/store/store.js';
import type { EntryMemory } from './entry-memory.js';
import { locationOf } from './recorded-log.js';

/** A log that acknowledges when it is told to. Appends over its limit are refused, as the real one's are. */
export class ManualLog implements CommitLog {
  readonly replicas = 3;
  isShort = false;
  readonly usage = { bytes: 0, liveBytes: 0, segments: 0, limitBytes: 1e9 };
  readonly #ended = new AbortController();
  /** Thrown by the next appends. */
  refusal: Error | undefined;
  #refusedFrom = Number.POSITIVE_INFINITY;
  #refusesLater = false;
  readonly appends: (readonly LogEntry[])[] = [];
  readonly deadOffsets: number[] = [];
  #waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];
  #changed: () => void = () => {};
  #offset = 0;

  /** @param kept the memory that the log has its entries in; undefined: values stay in the heap */
  constructor(
    readonly maxAppendBytes = 2 * 1024 * 1024,
    private readonly kept?: EntryMemory,
  ) {}

  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  append(entries: readonly LogEntry[]): CommitTicket {
    if (this.refusal) throw this.refusal;
    const bytes = appendBytes(entries);
    if (bytes > this.maxAppendBytes) {
      throw Object.assign(new Error(`${bytes} bytes`), { code: 'ERR_RDMC_ENTRY_TOO_LARGE' });
    }
    const isRefused = this.appends.length >= this.#refusedFrom;
    if (isRefused && !this.#refusesLater) throw full();
    this.appends.push(entries);
    if (isRefused) return { location: undefined, acknowledged: Promise.reject(full()) };
    const locations = entries.map(({ type, parts }) => {
      this.#offset = this.kept?.place(type, Buffer.concat(parts)) ?? this.#offset + 1;
      return { segmentId: 1n, offset: this.#offset };
    });
    const acknowledged = new Promise<void>((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
    acknowledged.catch(() => {});
    this.#changed();
    return { location: locationOf(locations), acknowledged };
  }

  appendRun(pieces: readonly Buffer[]): CommitTicket {
    return this.append([...logEntries(pieces)]);
  }

  /** Takes so many appends, and has no room for those behind them: at once, or when they have waited for it. */
  refuseFrom(appends: number, later: boolean): void {
    this.#refusedFrom = appends;
    this.#refusesLater = later;
  }

  memory(): Buffer | undefined {
    return this.kept?.bytes;
  }

  dead({ offset }: { offset: number }): void {
    this.deadOffsets.push(offset);
  }

  /** Resolves when so many appends were made. */
  async made(count: number): Promise<void> {
    while (this.appends.length < count) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  acknowledge(): void {
    for (const { resolve } of this.#waiting.splice(0)) resolve();
  }

  /** As when a full log gives up what waits for room. */
  refuseAll(error: Error): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  end(error: Error): void {
    this.#ended.abort(error);
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

function full(): Error {
  return Object.assign(new Error('no room'), { code: 'ERR_RDMC_LOG_FULL' });
}

/** What the log counts of an append: each entry's payload and header. */
export function appendBytes(entries: readonly LogEntry[]): number {
  let bytes = 0;
  for (const { parts } of entries) bytes += parts.reduce((sum, { length }) => sum + length, 12);
  return bytes;
}

export interface ManualServer {
  readonly log: ManualLog;
  readonly lease: { valid: boolean };
  readonly executor: Executor;
  readonly store: Store;
  readonly server: RespServer;
  readonly router: Router;
}

/** What a server without clients tells about itself; member 0 where no other is given. */
export function viewOf(table: SlotTable, member = 0, monitor?: MonitorOptions): View {
  const clients = { size: 0, describe: () => [] };
  return new View({ member, table, clients, port: 0, password: undefined, nodes: () => [], monitor });
}

/** One server whose log and lease are in the test's hand; member 0, alone where no others are given. */
export async function startManualServer({
  peers,
  table = SlotTable.of(0),
  log = new ManualLog(),
  onHttp = () => {},
  admin,
}: {
  peers?: PeerLinks;
  table?: SlotTable;
  log?: ManualLog;
  onHttp?: (address: string) => void;
  admin?: AdminService;
} = {}): Promise<ManualServer> {
  const clientPort = await ClientPort.listen({ host: '127.0.0.1', port: 0, maxClients: 100 });
  const { port } = clientPort;
  const store = new Store(new Keyspace(), log);
  const lease = { valid: true };
  const clients = new ClientSet();
  const view = new View({ member: 0, table, clients, port, password: undefined, nodes: () => [] });
  const executor = new Executor(store, lease, view, () => peers?.flush());
  const commands = createCommandTable();
  const slotWaitMs = 30_000;
  const router = new Router({ executor, commands, self: 0, table, peers, slotWaitMs, onHttp, admin });
  const server = new RespServer({ port: clientPort, executor, router, clients, isPasswordNeeded: false });
  return { log, lease, executor, store, server, router };
}
