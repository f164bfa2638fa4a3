// A process for each member of a benchmark: the same script, with its id and all members in --member.
import { fork } from 'node:child_process';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';

/** Runs `count` members on free ports of the loopback until all have ended; the process fails if one of them does. */
export async function runMembers(script, count) {
  const reserved = await reserveLoopbackPorts(count);
  const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
  await Promise.all(reserved.map(({ server }) => new Promise((resolve) => server.close(resolve))));
  const codes = await Promise.all(
    members.map(({ id }) => {
      const child = fork(script, [...process.argv.slice(2), '--member', JSON.stringify({ id, members })]);
      return new Promise((resolve) => child.on('exit', resolve));
    }),
  );
  process.exitCode = codes.every((code) => code === 0) ? 0 : 1;
}
