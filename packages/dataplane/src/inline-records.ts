// Commands and events of a protocol in the application's thread: calls of functions, without a ring.
import type { HostedProtocol } from './hosted-protocol.js';
import { checkBytes, type Handler } from './record-codec.js';
import { eventFunctions } from './record-functions.js';
import type { EventHandlers, Payload, RecordTable } from './record-table.js';

/** The first argument for the receiver of a record: bytes are copied, as by a ring. */
export function owned({ shape }: Payload<readonly unknown[]>, argument: unknown): unknown {
  if (shape !== 'bytes' || argument === undefined) return argument;
  checkBytes(argument);
  return argument.slice();
}

/**
 * The functions with which a protocol emits events. Events of a protocol that has ended are dropped. An error of the
 * application's function is an uncaught exception there, as for any event listener, and the protocol continues.
 * @throws DataPlaneError ERR_RDMC_INVALID_OPTION if a function is missing
 */
export function inlineEvents<Table extends RecordTable>(
  records: Table,
  handlers: EventHandlers<Table>,
  hosted: HostedProtocol,
): EventHandlers<Table> {
  const functions = eventFunctions(records, handlers);
  const entries = Object.entries(records.events).map(([name, payload]) => {
    const handler = functions.get(name)!;
    const emit: Handler = (a, b, c, d, e, f, g, h) => {
      if (hosted.failure) return;
      const first = owned(payload, a);
      try {
        handler(first, b, c, d, e, f, g, h);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    };
    return [name, emit];
  });
  return Object.fromEntries(entries) as EventHandlers<Table>;
}
