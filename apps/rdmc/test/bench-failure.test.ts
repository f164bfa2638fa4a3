import { readFileSync } from 'node:fs';
import { until } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { Cli, isRunning, untilGone } from './support/cli.js';

const LONG = ['bench', 'bandwidth', '--sizes', '4KiB', '--seconds', '60'];

/** The process that a benchmark started, once its main thread is busy. */
async function peerOf({ child }: Cli): Promise<number> {
  const path = `/proc/${child.pid}/task/${child.pid}/children`;
  const children = (): string[] => readFileSync(path, 'utf8').trim().split(' ').filter(Boolean);
  await until(() => children().length > 0);
  return Number(children()[0]);
}

describe('when a benchmark is disturbed', () => {
  it('kill -9 of the other process is exit code 4 and names it', async () => {
    const cli = new Cli(LONG);
    const peer = await peerOf(cli);
    process.kill(peer, 'SIGKILL');
    const { code, stderr } = await cli.ended;
    expect(code).toBe(4);
    expect(stderr).toContain(`the other process (pid ${peer}) was killed by SIGKILL`);
  });

  it.each([
    ['bandwidth', LONG],
    ['latency', ['bench', 'latency', '--sizes', '4', '--rounds', '10000000']],
  ])('SIGINT ends both with 130, without a result: %s', async (_, args) => {
    const cli = new Cli(args);
    const peer = await peerOf(cli);
    cli.child.kill('SIGINT');
    expect(await cli.ended).toMatchObject({ code: 130, stdout: '' });
    expect(isRunning(peer)).toBe(false);
  });

  it('its kill -9 takes the other process with it', async () => {
    const cli = new Cli(LONG);
    const peer = await peerOf(cli);
    cli.child.kill('SIGKILL');
    await cli.ended;
    await untilGone([peer]);
  });
});
