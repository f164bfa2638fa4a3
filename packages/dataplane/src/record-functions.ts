// Checks the functions that each side provides for its record table.
import { DataPlaneError } from './errors.js';
import type { Protocol } from './protocol.js';
import type { Handler } from './record-codec.js';
import type { EventHandlers, RecordTable } from './record-table.js';

type Functions = ReadonlyMap<string, Handler>;

/**
 * The functions with those names, bound to their object. `missing` is called with the first name without a function,
 * and throws.
 */
function functionsOf(names: readonly string[], owner: unknown, missing: (name: string) => never): Functions {
  const properties = (owner ?? {}) as Readonly<Record<string, unknown>>;
  const functions = names.map((name) => {
    const value = properties[name];
    if (typeof value !== 'function') return missing(name);
    return [name, value.bind(owner) as Handler] as const;
  });
  return new Map(functions);
}

/**
 * The protocol's function for each command of its table.
 * @throws DataPlaneError ERR_RDMC_INVALID_PROTOCOL
 */
export function commandsOf<Table extends RecordTable>(
  protocol: string,
  records: Table,
  started: Protocol<Table> | undefined,
): Functions {
  const commands: unknown = started?.commands;
  if (typeof commands !== 'object' || commands === null) {
    throw new DataPlaneError(
      'ERR_RDMC_INVALID_PROTOCOL',
      `Protocol '${protocol}': its start() must return an object with 'commands'`,
    );
  }
  return functionsOf(Object.keys(records.commands), commands, (name) => {
    throw new DataPlaneError(
      'ERR_RDMC_INVALID_PROTOCOL',
      `Protocol '${protocol}': its commands must have the function '${name}' of its record table`,
    );
  });
}

/**
 * The application's function for each event of a protocol's table.
 * @throws DataPlaneError ERR_RDMC_INVALID_OPTION
 */
export function eventFunctions<Table extends RecordTable>(
  records: Table,
  handlers: EventHandlers<Table>,
): Functions {
  return functionsOf(Object.keys(records.events), handlers, (name) => {
    throw new DataPlaneError('ERR_RDMC_INVALID_OPTION', `The function for the event '${name}' is missing`);
  });
}
