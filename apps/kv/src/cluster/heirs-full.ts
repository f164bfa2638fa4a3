import { RdmcError } from '@rdmc/common';

/** A takeover failed because the logs of these heirs did not have room for their parts; another one may leave them out. */
export class HeirsFull extends RdmcError {
  override readonly name = 'HeirsFull';

  constructor(
    readonly members: readonly number[],
    readonly reason: string,
  ) {
    const names = members.map((member) => `server ${member}`).join(', ');
    super('ERR_RDMC_LOG_FULL', `${names}: no room for a part of the dead server's keys: ${reason}`);
  }
}
