import { optionChecks } from '@rdmc/common';
import { invalidOption } from './errors.js';

/** They throw MeshError ERR_RDMC_MESH_INVALID_OPTION, for unknown options as well. */
export const { booleanOption, integerOption, onlyKnownOptions, signalOption, textOption } = optionChecks(
  (_, message) => invalidOption(message),
);
