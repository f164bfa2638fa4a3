import { invalidOption } from './errors.js';

// tc's own units: bit is bits per second, bps is bytes per second; k, m, g are powers of 1000, ki, mi, gi of 1024.
const RATE = /^(\d+(?:\.\d+)?)(k|m|g|t|ki|mi|gi|ti)?(bit|bps)?$/i;
const FACTORS: Readonly<Record<string, number>> = {
  k: 1e3,
  m: 1e6,
  g: 1e9,
  t: 1e12,
  ki: 2 ** 10,
  mi: 2 ** 20,
  gi: 2 ** 30,
  ti: 2 ** 40,
};

/** Bits per second of a rate as tc writes it: `400mbit`, `1.5gbit`, `50mbps` (bytes). Throws for other text. */
export function parseRate(rate: string): number {
  const match = RATE.exec(rate);
  const value = match
    ? Number(match[1]) *
      (FACTORS[(match[2] ?? '').toLowerCase()] ?? 1) *
      (match[3]?.toLowerCase() === 'bps' ? 8 : 1)
    : 0;
  if (!(value >= 8))
    throw invalidOption(`rate ${JSON.stringify(rate)} is not a rate: write it like 400mbit or 1gbit`);
  return value;
}
