import { DataPlane, type DataPlaneOptions } from '@rdmc/dataplane';
import { onTestFinished } from 'vitest';

export const ECHO = new URL('./fixtures/echo.mjs', import.meta.url);

type Overrides = Omit<Partial<DataPlaneOptions>, 'protocols'> & { data?: unknown };

/** A data plane with the echo protocol, from the built package, gone at the end of the test. */
export async function startEcho({ data, ...options }: Overrides = {}): Promise<DataPlane> {
  const plane = await DataPlane.start({
    device: { device: 'soft' },
    ...options,
    protocols: [{ name: 'echo', module: ECHO, data }],
  });
  onTestFinished(() => plane.terminate());
  return plane;
}

export function u32(...values: number[]): Uint8Array {
  return new Uint8Array(Uint32Array.from(values).buffer);
}

export function fromU32(payload: Uint8Array): number[] {
  return [...new Uint32Array(payload.slice().buffer)];
}

/** Waits for a condition by looking again at every turn of the event loop. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
