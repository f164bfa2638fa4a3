/** Messages of a member to its parent. */

/** Milliseconds of the machine's monotonic clock, which all its processes share. */
export function now() {
  return Number(process.hrtime.bigint()) / 1e6;
}

export function raise(event, details) {
  if (process.connected) process.send({ event, at: now(), ...details });
}

const FIELDS = ['code', 'memberId', 'missing', 'field', 'reason'];

export function encodeError(error) {
  const encoded = { name: error?.name, message: error?.message ?? String(error) };
  for (const field of FIELDS) if (error?.[field] !== undefined) encoded[field] = error[field];
  return encoded;
}
