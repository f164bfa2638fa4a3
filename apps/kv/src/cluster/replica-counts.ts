import { KvError } from '../errors.js';
import { ComparedOption, type Peers } from './compared-option.js';
import { memberName, NOT_TOLD } from './messages.js';

/**
 * The numbers of backups of the servers that are here. Slots go to any server: with fewer backups than the others it would acknowledge
 * writes that fewer failures lose.
 */
export function replicaCounts(mesh: Peers): ComparedOption {
  return new ComparedOption(mesh, {
    valueOf: ({ replicas }) => (replicas === NOT_TOLD ? undefined : replicas),
    refusal: otherCount,
  });
}

function otherCount(server: number, own: number, others: number): KvError {
  return new KvError(
    'ERR_RDMC_KV_REPLICAS',
    `${memberName(server)} has --replicas ${own}, and the cluster has ${others}: start it with --replicas ${others}. ` +
      'To change the number, stop all servers, and start them with the same --replicas',
  );
}
