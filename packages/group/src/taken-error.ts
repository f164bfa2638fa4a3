import { GroupError } from './errors.js';

/** The error of a second consumer. */
export function taken(): GroupError {
  const message = 'This group is being iterated already, and has one consumer at a time; share its messages';
  return new GroupError('ERR_RDMC_ITERATOR_TAKEN', message);
}
