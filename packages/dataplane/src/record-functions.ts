// The functions that each side of a record table gives, checked when they are handed over.
import { DataPlaneError } from './errors.js';
import type { Protocol } from './protocol.js';
import type { Handler } from './record-codec.js';
import type { EventHandlers, RecordTable } from './record-table.js';

type Functions = ReadonlyMap<string, Handler>;

/**
 * The functions of those names, with the object that they belong to as their `this`. The first name without a function
 * goes to `missing`, which throws.
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
 * What a protocol does at each command of its table.
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
      `Protocol '${protocol}': its start() must return an object with commands`,
    );
  }
  return functionsOf(Object.keys(records.commands), commands, (name) => {
    throw new DataPlaneError(
      'ERR_RDMC_INVALID_PROTOCOL',
      `Protocol '${protocol}': its commands have no function '${name}', which its record table names`,
    );
  });
}

/**
 * What an application does at each event of a protocol's table.
 * @throws DataPlaneError ERR_RDMC_INVALID_OPTION
 */
export function eventFunctions<Table extends RecordTable>(
  records: Table,
  handlers: EventHandlers<Table>,
): Functions {
  return functionsOf(Object.keys(records.events), handlers, (name) => {
    throw new DataPlaneError('ERR_RDMC_INVALID_OPTION', `There is no function for the event '${name}'`);
  });
}
