import { Buffer } from 'node:buffer';
import { parseWholeNumber, within } from '@rdmc/common';
import type { CoordinatorClient } from '@rdmc/tailwind/coordinator';
import { MAX_SERVER_ID, type ManageMessage, Topic } from '../cluster/messages.js';
import { codeOf, KvError, messageOf } from '../errors.js';
import { ORDER_WAIT_MS } from '../limits.js';
import { askSurely } from '../node/ask-surely.js';
import { replyOf } from '../resp/command-error.js';
import type { SnapshotService } from '../snapshot/snapshot-service.js';
import type { ClusterMembers } from './members.js';
import type { StatusService } from './status-service.js';

/** Runs what clients ask about the whole cluster. The answer takes its time: other members are asked. */
export interface AdminService {
  /** @param words the arguments of the command behind its name. Resolves with the reply in RESP, which may be an error */
  run(words: readonly string[]): Promise<Buffer>;
}

export interface ClusterAdminOptions {
  readonly status: Pick<StatusService, 'status' | 'self'>;
  readonly members: () => ClusterMembers;
  readonly snapshots: Pick<SnapshotService, 'page'>;
  readonly coordinator: Pick<CoordinatorClient, 'request'>;
}

const MAX_U32 = 0xffff_ffff;

/** The requests that the coordinator carries out. */
const ORDERS: ReadonlyMap<string, ManageMessage['op']> = new Map([
  ['REBALANCE', 'rebalance'],
  ['DRAIN', 'drain'],
  ['UNDRAIN', 'undrain'],
  ['REMOVE', 'remove'],
]);

/** The answers of a server of a cluster, each in one bulk string: JSON, or a page of a snapshot. */
export class ClusterAdmin implements AdminService {
  constructor(private readonly options: ClusterAdminOptions) {}

  async run(words: readonly string[]): Promise<Buffer> {
    try {
      return bulk(await this.#answer(words));
    } catch (thrown) {
      return error(replyOf(codeOf(thrown), messageOf(thrown)));
    }
  }

  async #answer([word = '', ...more]: readonly string[]): Promise<Buffer> {
    const { status, members } = this.options;
    const name = word.toUpperCase();
    if (name === 'SNAPSHOT') return this.#page(more);
    if (name === 'FINALIZE' && more.length === 0) return json(await this.#finalize());
    const op = ORDERS.get(name);
    if (op !== undefined) return json(await this.#order(op, more));
    if (name === 'STATUS' && more.length === 0) return json(await status.status());
    if (name === 'MEMBERS' && more.length === 0) return json(members());
    throw unknown();
  }

  /** It may be repeated: where a coordinator has raised the level and has not answered, the next one says that it is raised. */
  #finalize(): Promise<unknown> {
    return this.#askSurely(Topic.FINALIZE, {});
  }

  #askSurely(topic: string, order: object): Promise<unknown> {
    return askSurely(() => this.options.coordinator.request(topic, order), ORDER_WAIT_MS);
  }

  #page(words: readonly string[]): Promise<Buffer> {
    const [slot, after, to] = words.map((text) => parseWholeNumber(text, 0, MAX_U32));
    const isWhole = slot !== undefined && after !== undefined && to !== undefined;
    if (words.length !== 3 || !isWhole) throw unknown();
    return this.options.snapshots.page({ slot, after }, to);
  }

  #order(op: ManageMessage['op'], words: readonly string[]): Promise<unknown> {
    const { self } = this.options.status;
    if (op === 'rebalance' && words.length === 0) return this.#askSurely(Topic.MANAGE, { op });
    const server = words.length === 1 ? parseWholeNumber(words[0]!, 1, MAX_SERVER_ID) : undefined;
    if (op === 'rebalance' || server === undefined) throw unknown();
    const answer = this.#askSurely(Topic.MANAGE, { op, server });
    return op === 'remove' && server === self.id ? untilRemoved(answer, self.signal) : answer;
  }
}

/** The answer to an order that removes this server may not reach it: the mesh ends its connections. Then that end is the answer. */
async function untilRemoved(answer: Promise<unknown>, signal: AbortSignal): Promise<unknown> {
  try {
    return await within(answer, { signal });
  } catch (error) {
    if (codeOf(error) === 'ERR_RDMC_MESH_EVICTED') return { isRepeated: false };
    throw error;
  }
}

function unknown(): KvError {
  return new KvError('ERR_RDMC_KV_INVALID_OPTION', "this server does not know this request of 'kv admin'");
}

function json(document: unknown): Buffer {
  return Buffer.from(JSON.stringify(document));
}

function error(text: string): Buffer {
  return Buffer.from(`-${text.replace(/[\r\n]+/g, ' ')}\r\n`);
}

function bulk(body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`$${body.length}\r\n`), body, Buffer.from('\r\n')]);
}
