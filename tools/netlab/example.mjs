// Three hosts behind links of 100 Mbit/s each way. Needs root. Names, not addresses: hosts know each other.
import { once } from 'node:events';
import { createLab, NetlabError } from '@rdmc/netlab';

async function main() {
  const lab = await createLab({ hosts: ['alpha', 'beta', 'gamma'], rate: '100mbit' });
  try {
    // A program inside a host: options and result are those of child_process.spawn.
    const child = lab.exec(
      'beta',
      'sh',
      ['-c', 'echo "$(hostname) reaches $(getent ahostsv4 alpha | head -1)"'],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    child.stdout.pipe(process.stdout);
    await once(child, 'close');

    // What the links carry; then one of them is slowed, and one is cut.
    const megabits = async (...hosts) => (await lab.goodput(...hosts, 1 << 20)).bitsPerSecond / 1e6;
    console.log(`alpha to beta: ${(await megabits('alpha', 'beta')) > 20 ? 'fast' : 'slow'}`);
    await lab.slow('beta', '10mbit');
    console.log(`alpha to beta: ${(await megabits('alpha', 'beta')) > 20 ? 'fast' : 'slow'}`);
    await lab.cut('gamma');
    const silence = { signal: AbortSignal.timeout(500) };
    await lab
      .goodput('alpha', 'gamma', 1, silence)
      .catch((error) => console.log(`alpha to gamma: ${error.name}`));
  } finally {
    await lab.destroy();
  }
}

await main().catch((error) => {
  if (!(error instanceof NetlabError)) throw error;
  console.log(`no lab here: ${error.message}`);
});
