import { parseWholeNumber } from '@rdmc/common';
import { VerbsError } from './errors.js';

/** The environment variables of this package; options override them. Only this file reads them. */
export interface VerbsEnvironment {
  /** RDMC_DEVICE: what `auto` means: a name, `ibverbs` (any RDMA device) or `soft`. */
  readonly device: string | undefined;
  /** RDMC_PORT: the port of the RDMA device, from 1. */
  readonly port: number | undefined;
  /** RDMC_GID_INDEX: the port's address. */
  readonly gidIndex: number | undefined;
  /** RDMC_IBVERBS_LIBRARY: path or name of libibverbs (default libibverbs.so.1). */
  readonly library: string;
  /** RDMC_SOFT_TEAR, for tests: soft devices kill the process after that many bytes of one-sided WRITEs. */
  readonly tearAfterBytes: number | undefined;
}

export const DEFAULT_LIBRARY = 'libibverbs.so.1';
const MAX_PORT = 255;
/** An address handle has one byte for it. */
export const MAX_GID_INDEX = 255;

function wholeNumber(name: string, text: string | undefined, min: number, max: number): number | undefined {
  if (text === undefined || text === '') return undefined;
  const value = parseWholeNumber(text, min, max);
  if (value !== undefined) return value;
  throw new VerbsError(
    'ERR_RDMC_INVALID_OPTION',
    `${name} must be a whole number from ${min} to ${max}, not '${text}'`,
  );
}

/** @throws VerbsError ERR_RDMC_INVALID_OPTION */
export function readEnvironment(from: NodeJS.ProcessEnv = process.env): VerbsEnvironment {
  return {
    device: from.RDMC_DEVICE || undefined,
    port: wholeNumber('RDMC_PORT', from.RDMC_PORT, 1, MAX_PORT),
    gidIndex: wholeNumber('RDMC_GID_INDEX', from.RDMC_GID_INDEX, 0, MAX_GID_INDEX),
    tearAfterBytes: wholeNumber('RDMC_SOFT_TEAR', from.RDMC_SOFT_TEAR, 0, Number.MAX_SAFE_INTEGER),
    library: from.RDMC_IBVERBS_LIBRARY || DEFAULT_LIBRARY,
  };
}
