import type { RespVersion } from '../resp/writer.js';
import type { Transaction } from '../transactions/transaction.js';

/** The state of a client's connection. */
export interface Session {
  readonly id: number;
  version: RespVersion;
  name: string;
  authenticated: boolean;
  readonly address: string;
  /** Undefined: the client does not queue commands and does not watch keys. */
  transaction?: Transaction | undefined;
  /** The connection ends when its replies have left. */
  quit(): void;
}
