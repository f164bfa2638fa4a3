import { optionChecks } from '@rdmc/common';
import { MAX_PORT } from './constants.js';
import { CastError, invalidOption } from './errors.js';
import type { PortRange } from './ports.js';

/** They throw CastError. */
export const { onlyKnownOptions } = optionChecks((code, message) => new CastError(code, message));

export function integerOption(name: string, value: unknown, least: number, most: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most)
    return value as number;
  throw invalidOption(`${name}: found ${String(value)}, needed a whole number from ${least} to ${most}`);
}

export function textOption(name: string, value: unknown): string {
  if (typeof value === 'string' && value.length > 0 && !value.includes('\0')) return value;
  throw invalidOption(
    `${name}: found ${typeof value === 'string' ? `'${value}'` : String(value)}, needed a text`,
  );
}

export function booleanOption(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw invalidOption(`${name}: found ${String(value)}, needed true or false`);
}

export function oneOfOption<T extends string>(name: string, value: unknown, values: readonly T[]): T {
  if (values.includes(value as T)) return value as T;
  throw invalidOption(`${name}: found ${String(value)}, needed one of ${values.join(', ')}`);
}

export function signalOption(value: unknown): AbortSignal | undefined {
  if (value === undefined || value instanceof AbortSignal) return value;
  throw invalidOption('signal: needed an AbortSignal');
}

export function portsOption(range: unknown): PortRange | undefined {
  if (range === undefined) return undefined;
  if (!Array.isArray(range) || range.length !== 2) throw invalidOption('meshPorts: needed [first, last]');
  const first = integerOption('meshPorts[0]', range[0], 1, MAX_PORT);
  return [first, integerOption('meshPorts[1]', range[1], first, MAX_PORT)];
}

export const TRANSPORTS = ['auto', 'shm', 'tcp'] as const;
