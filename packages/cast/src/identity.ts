/** Name and version that this end sends. A test compares the version with that of the package. */
export const SOFTWARE = '@rdmc/cast 0.1.0';

/** Purpose of the keys of control connections. */
export const CONTROL_PURPOSE = 'rdmc cast control';
