import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '@rdmc/testing';
import { onTestFinished } from 'vitest';
import { Scratch } from './cli.js';

const POLL_MS = 20;

/** A named pipe that nobody reads or writes yet. */
export function newPipe(): string {
  const pipe = join(new Scratch().path, 'pipe');
  execFileSync('mkfifo', ['-m', '600', pipe]);
  return pipe;
}

/** Opens the pipe for writing, once somebody reads it or waits to read it. It stays open until the end of the test. */
export async function becomeWriter(pipe: string): Promise<void> {
  let file: number | undefined;
  await until(() => {
    try {
      file = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch {
      return false;
    }
    return true;
  }, POLL_MS);
  onTestFinished(() => closeSync(file!));
}
