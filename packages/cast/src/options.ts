import { optionChecks } from '@rdmc/common';
import { MAX_PORT } from './constants.js';
import { CastError, invalidOption } from './errors.js';
import type { PortRange } from './ports.js';

/** These checks throw CastError. */
export const { booleanOption, choiceOption, integerOption, onlyKnownOptions, signalOption, textOption } =
  optionChecks((code, message) => new CastError(code, message));

export function portsOption(where: string, range: unknown): PortRange | undefined {
  if (range === undefined) return undefined;
  if (!Array.isArray(range) || range.length !== 2)
    throw invalidOption(`${where}: meshPorts must be [first, last]`);
  const first = integerOption(where, 'meshPorts[0]', range[0], 1, MAX_PORT);
  return [first, integerOption(where, 'meshPorts[1]', range[1], first, MAX_PORT)];
}

export const TRANSPORTS = ['auto', 'shm', 'tcp'] as const;
