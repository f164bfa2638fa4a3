/**
 * The members of the cluster in a file of a server that joined it later, for its next start: the list of members does not have that
 * server, and after the end of all members no server answers at an address for clients.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDurableDirectories } from '@rdmc/common';
import { readShape } from '@rdmc/common/shapes';
import { type ClusterMembers, clusterMembers } from '../admin/members.js';
import { codeOf, KvError, messageOf } from '../errors.js';
import { writeDurably } from '../write-durably.js';

const NAME = 'members.json';

/** When this resolves, the file has these members, also after a loss of power. Before, it has the former ones. */
export async function keepMembers(directory: string, members: ClusterMembers): Promise<void> {
  await makeDurableDirectories(directory);
  await writeDurably(join(directory, NAME), `${JSON.stringify(members)}\n`);
}

/** Undefined: this server has not joined yet. @throws KvError ERR_RDMC_KV_INVALID_OPTION: the file is damaged */
export async function keptMembers(directory: string): Promise<ClusterMembers | undefined> {
  const path = join(directory, NAME);
  try {
    return readShape(clusterMembers, JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new KvError(
      'ERR_RDMC_KV_INVALID_OPTION',
      `${path} does not have the members of the cluster: ${messageOf(error)}. Without it, the server asks at the addresses in --join`,
      { cause: error },
    );
  }
}
