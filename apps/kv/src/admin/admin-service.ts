import { Buffer } from 'node:buffer';
import { parseWholeNumber } from '@rdmc/common';
import { codeOf, messageOf } from '../errors.js';
import { replyOf } from '../resp/command-error.js';
import type { SnapshotService } from '../snapshot/snapshot-service.js';
import type { StatusService } from './status-service.js';

/** Runs what clients ask about the whole cluster. The answer takes its time: other members are asked. */
export interface AdminService {
  /** @param words the arguments of the command behind its name. Resolves with the reply in RESP, which may be an error */
  run(words: readonly string[]): Promise<Buffer>;
}

/** The answers of a server of a cluster, each in one bulk string: JSON, or a page of a snapshot. */
export class ClusterAdmin implements AdminService {
  constructor(
    private readonly service: Pick<StatusService, 'status'>,
    private readonly snapshots: Pick<SnapshotService, 'page'>,
  ) {}

  async run([word = '', ...more]: readonly string[]): Promise<Buffer> {
    try {
      const name = word.toUpperCase();
      if (name === 'STATUS' && more.length === 0)
        return bulk(Buffer.from(JSON.stringify(await this.service.status())));
      const [slot, after, to] = more.map((text) => parseWholeNumber(text, 0, 0xffff_ffff));
      if (
        name !== 'SNAPSHOT' ||
        more.length !== 3 ||
        slot === undefined ||
        after === undefined ||
        to === undefined
      )
        return error(UNKNOWN);
      return bulk(await this.snapshots.page({ slot, after }, to));
    } catch (thrown) {
      return error(replyOf(codeOf(thrown), messageOf(thrown)));
    }
  }
}

const UNKNOWN = "ERR ERR_RDMC_KV_INVALID_OPTION this server does not know this request of 'kv admin'";

function error(text: string): Buffer {
  return Buffer.from(`-${text.replace(/[\r\n]+/g, ' ')}\r\n`);
}

function bulk(body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`$${body.length}\r\n`), body, Buffer.from('\r\n')]);
}
