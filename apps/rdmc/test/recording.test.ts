import { expect, it } from 'vitest';
import { recorded } from '../src/trace/recording.js';

it('a trace on a full disk ends the command with 5, and the code of the system', async () => {
  await expect(recorded('/dev/full', undefined, async () => {})).rejects.toMatchObject({
    code: 'ENOSPC',
    exitCode: 5,
    message: 'cannot write the trace /dev/full: no space left on device',
  });
});
