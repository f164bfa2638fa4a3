import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '@rdmc/testing';

const BUILD = fileURLToPath(new URL('../native/fake-ibverbs/build.mjs', import.meta.url));

/** The compiled fake of libibverbs, or the reason why it is missing. */
export const fakeLibrary: { readonly path: string; readonly missing: string } = (() => {
  const run = spawnSync(process.execPath, [BUILD], { encoding: 'utf8' });
  if (run.status === 0) return { path: run.stdout.trim(), missing: '' };
  if (run.status === 2) return { path: '', missing: run.stderr.trim() };
  throw new Error(`building the fake libibverbs failed:\n${run.stderr}`);
})();

/** Settings of the fake; see native/fake-ibverbs/fake.h. */
export type FakeSettings = Readonly<Record<string, string>>;

/** Lets this process use the fake, with these settings; the returned function undoes it. */
export function useFake(settings: FakeSettings = {}): () => void {
  const names = ['RDMC_IBVERBS_LIBRARY', ...Object.keys(settings).map((name) => `FAKE_IBVERBS_${name}`)];
  const before = names.map((name) => [name, process.env[name]] as const);
  process.env.RDMC_IBVERBS_LIBRARY = fakeLibrary.path;
  for (const [name, value] of Object.entries(settings)) process.env[`FAKE_IBVERBS_${name}`] = value;
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
}

/** The state of a device's link, in the order of enum Link in native/fake-ibverbs/fake.h. */
const LINKS = ['up', 'cut', 'deaf', 'mute', 'down', 'lost'] as const;
export type FakeLink = (typeof LINKS)[number];
const LINK_CHANGE = 1000;

/** A folder, for one test, in which devices have a sysfs entry that can be taken away, and a fifo for events. */
export class FakeMachine {
  readonly folder = temporaryDirectory('rdmc-fake-ibverbs');

  constructor(...devices: readonly string[]) {
    for (const device of devices) mkdirSync(join(this.folder, device));
  }

  /** An asynchronous event of a device: a number of enum ibv_event_type, and a port or a hardware queue pair. */
  raise(device: string, event: number, subject: number): void {
    const record = Buffer.alloc(8);
    record.writeUInt32LE(event, 0);
    record.writeUInt32LE(subject, 4);
    writeFileSync(join(this.folder, `${device}.events`), record);
  }

  /** Takes effect soon after; the device does not raise an event for it. */
  setLink(device: string, link: FakeLink): void {
    this.raise(device, LINK_CHANGE, LINKS.indexOf(link));
  }

  /** Removes the device. */
  remove(device: string): void {
    rmSync(join(this.folder, device), { recursive: true });
  }
}
