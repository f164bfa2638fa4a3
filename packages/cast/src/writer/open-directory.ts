import { constants, openSync } from 'node:fs';
import { asCastError } from './system-errors.js';

/** Opens a directory; the caller closes the descriptor. @throws CastError */
export function openDirectory(directory: string): number {
  try {
    return openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  } catch (error) {
    throw asCastError(error);
  }
}
