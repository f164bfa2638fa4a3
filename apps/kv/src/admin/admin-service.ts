import { Buffer } from 'node:buffer';
import { codeOf, messageOf } from '../errors.js';
import { replyOf } from '../resp/command-error.js';
import type { StatusService } from './status-service.js';

/** Runs what clients ask about the whole cluster. The answer takes its time: other members are asked. */
export interface AdminService {
  /** @param words the arguments of the command behind its name. Resolves with the reply in RESP, which may be an error */
  run(words: readonly string[]): Promise<Buffer>;
}

/** The answers of a server of a cluster: JSON in one bulk string. */
export class ClusterAdmin implements AdminService {
  constructor(private readonly service: Pick<StatusService, 'status'>) {}

  async run([word = '', ...more]: readonly string[]): Promise<Buffer> {
    try {
      if (word.toUpperCase() !== 'STATUS' || more.length > 0) return error(UNKNOWN);
      return bulk(JSON.stringify(await this.service.status()));
    } catch (thrown) {
      return error(replyOf(codeOf(thrown), messageOf(thrown)));
    }
  }
}

const UNKNOWN = "ERR ERR_RDMC_KV_INVALID_OPTION this server does not know this request of 'kv admin'";

function error(text: string): Buffer {
  return Buffer.from(`-${text.replace(/[\r\n]+/g, ' ')}\r\n`);
}

function bulk(text: string): Buffer {
  const body = Buffer.from(text);
  return Buffer.concat([Buffer.from(`$${body.length}\r\n`), body, Buffer.from('\r\n')]);
}
