// A registry in a process of its own, on a free port of loopback: node verdaccio.cjs VERDACCIO STORAGE UPLINK
// Prints its address. Ends when its input ends, so that it never outlives a killed test.
const { join } = require('node:path');

const [, , verdaccio, storage, uplink] = process.argv;
const everybody = { access: '$all', publish: '$all' };
const configuration = {
  storage,
  self_path: join(storage, 'config.yaml'),
  uplinks: { npm: { url: uplink, maxage: '60m', timeout: '60s' } },
  packages: { '@rdmc/*': everybody, '**': { access: '$all', proxy: 'npm' } },
  auth: { htpasswd: { file: join(storage, 'htpasswd') } },
  log: { type: 'stdout', format: 'json', level: 'fatal' },
  max_body_size: '100mb',
  web: { enable: false },
};

async function main() {
  const { runServer } = require(verdaccio);
  const server = await runServer(configuration);
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`http://127.0.0.1:${server.address().port}/\n`);
  });
  process.stdin.on('end', () => process.exit(0)).resume();
}

main();
