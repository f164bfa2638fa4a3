import { errorTable, optionErrors, RdmcError } from '@rdmc/common';

/** Every code a {@link NodeError} can carry. They are stable; messages are not. */
export const nodeErrors = errorTable({
  ...optionErrors,
  ERR_RDMC_NODE_CLOSED: ['closed', 'the node is closed', 'join again'],
  ERR_RDMC_PROTOCOL_TAKEN: ['usage', 'a protocol already has a client', 'connect to it once'],
  ERR_RDMC_DUPLICATE_PROTOCOL: ['usage', 'two protocols have the same name', 'use different names'],
  ERR_RDMC_DEVICE_MISMATCH: [
    'refused',
    'members have devices that do not reach each other',
    'use one kind of device at all members; `field` names the difference',
  ],
  ERR_RDMC_PROTOCOL_MISMATCH: [
    'refused',
    'members run other protocols, or other versions',
    'run the same protocols and versions at all members; `field` names the protocol',
  ],
});
/** The stable codes of this package's errors; `nodeErrors` has their meaning. */
export type NodeErrorCode = keyof typeof nodeErrors;

/** What a {@link NodeError} knows beside its code and message. */
export interface NodeErrorDetails {
  /** The member that the error is about. */
  readonly memberId?: number;
  /** What the members disagree on: 'device', 'transport', 'host', or the name of a protocol. */
  readonly field?: string;
}

/** The error of this package, beside those of the mesh, the device and the data plane. Tell cases apart by `code`. */
export class NodeError extends RdmcError<NodeErrorCode> {
  override readonly name = 'NodeError';
  /** What the members disagree on: 'device', 'transport', 'host', or the name of a protocol. */
  readonly field: string | undefined;

  constructor(code: NodeErrorCode, message: string, details: NodeErrorDetails = {}) {
    super(code, message, details);
    this.field = details.field;
  }
}
