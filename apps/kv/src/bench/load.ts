import { Buffer } from 'node:buffer';
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { type ConnectOptions, connect } from '../client/connect.js';
import type { Connection } from '../client/connection.js';
import type { Reply } from '../client/reply-reader.js';
import { SLOTS } from '../limits.js';
import { encodeCommand } from '../resp/encode.js';
import { slotOf } from '../store/slot.js';
import type { Endpoint } from '../values.js';
import type { Operation, Workload } from './workload.js';

export interface LoadOptions {
  readonly endpoints: readonly Endpoint[];
  readonly clients: number;
  /** Operations that a client sends at once; it waits for all of their replies. */
  readonly batch: number;
  readonly seconds: number;
  /** Backups to WAIT for after every batch with a write; 0: no WAIT. */
  readonly wait: number;
  /** Whether commands go to the servers of their keys, by CLUSTER SLOTS; else all go to the first server. */
  readonly direct: boolean;
  /** How clients connect. */
  readonly access: ConnectOptions;
}

export interface LoadResult {
  readonly operations: number;
  readonly errors: number;
  /** WAITs that answered with fewer replicas than asked for. */
  readonly shortWaits: number;
  readonly perSecond: number;
  /** Of a batch, in microseconds. */
  readonly p50: number;
  readonly p99: number;
}

/** First and last slot, and the address of their server. */
type SlotRange = readonly [from: number, to: number, server: readonly [host: string, port: number]];

/** The servers of all slots, as one of them says; its error reply, where it is not a cluster. */
async function slotRanges(endpoint: Endpoint, access: ConnectOptions): Promise<readonly SlotRange[] | Error> {
  const connection = await connect(endpoint, access);
  try {
    const [reply] = await connection.batch(encodeCommand(['CLUSTER', 'SLOTS']), 1);
    return reply as readonly SlotRange[] | Error;
  } finally {
    connection.close();
  }
}

/** Which connection of a client has a slot. */
type SlotMap = Uint8Array;

async function slotMap({ endpoints, direct, access }: LoadOptions): Promise<SlotMap> {
  const map = new Uint8Array(SLOTS);
  if (!direct) return map;
  const ranges = await slotRanges(endpoints[0]!, access);
  if (ranges instanceof Error) throw ranges;
  for (const [from, to, [, port]] of ranges) {
    const index = endpoints.findIndex((endpoint) => endpoint.port === port);
    map.fill(Math.max(0, index), from, to + 1);
  }
  return map;
}

/** A hash tag of keys of the first server; any tag, where the server is not a cluster. */
export async function tagOf(endpoint: Endpoint, access: ConnectOptions): Promise<string> {
  const reply = await slotRanges(endpoint, access);
  const ranges = reply instanceof Error ? [] : reply;
  for (let tag = 0; ; tag += 1) {
    const key = Buffer.from(`{${tag}}`);
    const slot = slotOf(key, 0, key.length);
    const owner = ranges.find(([from, to]) => slot >= from && slot <= to)?.[2];
    if (ranges.length === 0 || owner?.[1] === endpoint.port) return key.toString();
  }
}

class Counter {
  operations = 0;
  errors = 0;
  shortWaits = 0;
  readonly histogram: RecordableHistogram = createHistogram();
}

/** One client: a batch, its replies, the next batch. */
class LoadClient {
  readonly #wait: Buffer;

  constructor(
    private readonly connections: readonly Connection[],
    private readonly map: SlotMap,
    private readonly workload: Workload,
    private readonly options: LoadOptions,
  ) {
    this.#wait = options.wait > 0 ? encodeCommand(['WAIT', String(options.wait), '0']) : Buffer.alloc(0);
  }

  async run(until: number, counter: Counter): Promise<void> {
    const { batch } = this.options;
    for (let started = performance.now(); started < until; ) {
      const replies = await (batch === 1
        ? this.#sendOne(this.workload.next())
        : this.send(this.#some(batch)));
      const ended = performance.now();
      counter.histogram.record(Math.max(1, Math.round((ended - started) * 1e6)));
      started = ended;
      counter.operations += batch;
      for (const reply of replies) {
        if (reply instanceof Error) counter.errors += 1;
        else if (typeof reply === 'number' && reply < this.options.wait) counter.shortWaits += 1;
      }
    }
  }

  #some(count: number): Operation[] {
    return Array.from({ length: count }, () => this.workload.next());
  }

  #sendOne({ bytes, slot }: Operation): Promise<Reply[]> {
    if (this.#wait.length > 0) return this.send([{ bytes, slot }]);
    return this.connections[this.map[slot]!]!.batch(bytes, 1);
  }

  async send(operations: readonly Operation[]): Promise<Reply[]> {
    const groups = new Map<number, Buffer[]>();
    for (const { bytes, slot } of operations) {
      const index = this.map[slot]!;
      const group = groups.get(index);
      if (group) group.push(bytes);
      else groups.set(index, [bytes]);
    }
    const waits = this.#wait.length > 0 ? 1 : 0;
    const sent = [...groups].map(([index, parts]) => {
      const bytes = parts.length + waits === 1 ? parts[0]! : Buffer.concat([...parts, this.#wait]);
      return this.connections[index]!.batch(bytes, parts.length + waits);
    });
    return sent.length === 1 ? sent[0]! : (await Promise.all(sent)).flat();
  }

  close(): void {
    for (const connection of this.connections) connection.close();
  }
}

async function openClients(workload: Workload, options: LoadOptions): Promise<LoadClient[]> {
  const map = await slotMap(options);
  const endpoints = options.direct ? options.endpoints : options.endpoints.slice(0, 1);
  return Promise.all(
    Array.from({ length: options.clients }, async () => {
      const connections = await Promise.all(endpoints.map((endpoint) => connect(endpoint, options.access)));
      return new LoadClient(connections, map, workload, options);
    }),
  );
}

/** Writes every record once. */
export async function fill(workload: Workload, records: number, options: LoadOptions): Promise<void> {
  const clients = await openClients(workload, { ...options, wait: 0, clients: 8 });
  let next = 0;
  await Promise.all(
    clients.map(async (client) => {
      while (next < records) {
        const from = next;
        next = Math.min(records, from + 100);
        const replies = await client.send(
          Array.from({ length: next - from }, (_, i) => workload.write(from + i)),
        );
        const failed = replies.find((reply) => reply instanceof Error);
        if (failed) throw failed;
      }
      client.close();
    }),
  );
}

/** Keeps the clients busy for some seconds, the first tenth of which does not count. */
export async function load(workload: Workload, options: LoadOptions): Promise<LoadResult> {
  const clients = await openClients(workload, options);
  const warmUp = new Counter();
  await Promise.all(clients.map((client) => client.run(performance.now() + options.seconds * 100, warmUp)));
  const counter = new Counter();
  const started = performance.now();
  const until = started + options.seconds * 1000;
  await Promise.all(clients.map((client) => client.run(until, counter)));
  const seconds = (performance.now() - started) / 1000;
  for (const client of clients) client.close();
  const { operations, errors, shortWaits, histogram } = counter;
  return {
    operations,
    errors,
    shortWaits,
    perSecond: Math.round(operations / seconds),
    p50: Math.round(histogram.percentile(50) / 1000),
    p99: Math.round(histogram.percentile(99) / 1000),
  };
}
