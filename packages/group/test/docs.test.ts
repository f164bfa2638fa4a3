import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { expectExample, expectShown, fillFrom, freed, temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it, onTestFinished } from 'vitest';

const root = new URL('..', import.meta.url);
const program = fileURLToPath(new URL('member.mjs', root));

/** A member as the README starts it. */
function start(id: number, env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, [program, String(id)], { env });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, ended: once(child, 'close'), stderr: text(child.stderr) };
}

describe('the README', () => {
  it('shows the first program, and what it prints', () => expectExample(root));

  it('shows the program of one member, which sends a file from one process to two others', async () => {
    expectShown(root, 'member.mjs');
    const directory = temporaryDirectory('rdmc-members');
    const file = join(directory, 'file');
    const content = Buffer.alloc(3_000_000);
    fillFrom(1, content);
    writeFileSync(file, content);
    const members = await freed(await reserveLoopbackPorts(3));
    const env = { ...process.env, MEMBERS: members.map(({ host, port }) => `${host}:${port}`).join() };
    const [sender, ...receivers] = [start(0, env), start(1, env), start(2, env)];
    const copies = receivers.map(({ child }, index) =>
      pipeline(child.stdout, createWriteStream(join(directory, `copy-${index + 1}`))),
    );
    await pipeline(createReadStream(file), sender!.child.stdin);
    await Promise.all(copies);
    for (const { ended, stderr } of [sender!, ...receivers]) {
      expect(await ended, await stderr).toEqual([0, null]);
    }
    expect(await sender!.stderr).toContain('all 2 receivers have them');
    for (const copy of ['copy-1', 'copy-2']) {
      expect(readFileSync(join(directory, copy)).equals(content)).toBe(true);
    }
  });
});
