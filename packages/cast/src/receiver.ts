import { CastError } from './errors.js';
import type { ReceiverEvent } from './receiver-events.js';
import type { ReceiveOptions } from './receiver-options.js';

/** Takes casts until it is closed. Iterating gives what happens; it may be left out. One consumer. */
export interface FileReceiver extends AsyncIterable<ReceiverEvent>, AsyncDisposable {
  /** Where it listens. */
  readonly address: { readonly host: string; readonly port: number };
  /** Ends casts under way, removes what is half-done, and listens no more. Idempotent. */
  close(): Promise<void>;
}

/** Listens for casts and puts what they bring in a directory. */
export async function receiveFiles(_options: ReceiveOptions): Promise<FileReceiver> {
  throw new CastError('ERR_RDMC_LISTEN_FAILED', 'No address to listen on');
}
