import { Buffer } from 'node:buffer';
import { parseWholeNumber } from '@rdmc/common';
import type { CoordinatorClient } from '@rdmc/tailwind/coordinator';
import { MAX_SERVER_ID, type ManageMessage, Topic } from '../cluster/messages.js';
import { codeOf, KvError, messageOf } from '../errors.js';
import { replyOf } from '../resp/command-error.js';
import type { ClusterMembers } from './members.js';
import type { StatusService } from './status-service.js';

/** Runs what clients ask about the whole cluster. The answer takes its time: other members are asked. */
export interface AdminService {
  /** @param words the arguments of the command behind its name. Resolves with the reply in RESP, which may be an error */
  run(words: readonly string[]): Promise<Buffer>;
}

export interface ClusterAdminOptions {
  readonly status: Pick<StatusService, 'status'>;
  readonly members: () => ClusterMembers;
  readonly coordinator: Pick<CoordinatorClient, 'request'>;
}

/** The requests that the coordinator carries out. */
const ORDERS: ReadonlyMap<string, ManageMessage['op']> = new Map([
  ['REBALANCE', 'rebalance'],
  ['DRAIN', 'drain'],
  ['UNDRAIN', 'undrain'],
  ['REMOVE', 'remove'],
]);

/** The answers of a server of a cluster: JSON in one bulk string. */
export class ClusterAdmin implements AdminService {
  constructor(private readonly options: ClusterAdminOptions) {}

  async run(words: readonly string[]): Promise<Buffer> {
    try {
      return bulk(JSON.stringify(await this.#answer(words)));
    } catch (thrown) {
      return error(replyOf(codeOf(thrown), messageOf(thrown)));
    }
  }

  async #answer([word = '', ...more]: readonly string[]): Promise<unknown> {
    const { status, members, coordinator } = this.options;
    const name = word.toUpperCase();
    if (name === 'STATUS' && more.length === 0) return status.status();
    if (name === 'MEMBERS' && more.length === 0) return members();
    const op = ORDERS.get(name);
    if (op === 'rebalance' && more.length === 0) return coordinator.request(Topic.MANAGE, { op });
    const server = more.length === 1 ? parseWholeNumber(more[0]!, 1, MAX_SERVER_ID) : undefined;
    if (op === undefined || op === 'rebalance' || server === undefined) throw unknown();
    return coordinator.request(Topic.MANAGE, { op, server });
  }
}

function unknown(): KvError {
  return new KvError('ERR_RDMC_KV_INVALID_OPTION', "this server does not know this request of 'kv admin'");
}

function error(text: string): Buffer {
  return Buffer.from(`-${text.replace(/[\r\n]+/g, ' ')}\r\n`);
}

function bulk(text: string): Buffer {
  const body = Buffer.from(text);
  return Buffer.concat([Buffer.from(`$${body.length}\r\n`), body, Buffer.from('\r\n')]);
}
