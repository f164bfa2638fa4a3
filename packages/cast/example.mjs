// Two receivers and a sender in one process. Between machines each is a separate process, and all have the same `key`.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { castFiles, receiveFiles } from '@rdmc/cast';

const folder = await mkdtemp(join(tmpdir(), 'rdmc-cast-example-'));
const model = join(folder, 'model.bin');
await writeFile(model, Buffer.alloc(3_000_000, 'weights '));

const directories = [await mkdtemp(join(folder, 'a-')), await mkdtemp(join(folder, 'b-'))];
const receivers = await Promise.all(
  directories.map((directory) => receiveFiles({ directory, port: 0, once: true })), // port 7411 by default
);

const cast = castFiles([model], { to: receivers.map(({ address }) => address) });
for await (const { phase, sentBytes, totalBytes } of cast) {
  if (phase === 'done') console.log(`${sentBytes} of ${totalBytes} bytes sent`);
}
const summary = await cast.finished;
console.log(summary.receivers.map(({ state, files }) => `${state}: ${files} file`).join(', '));

const original = await readFile(model);
for (const directory of directories) {
  console.log('equal:', original.equals(await readFile(join(directory, 'model.bin'))));
}
await rm(folder, { recursive: true });
