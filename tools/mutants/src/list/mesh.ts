import type { Mutant } from '../mutant.js';

const PACKAGE = 'packages/mesh';
const FRAMES = ['packages/mesh/test/frames.test.ts', 'packages/mesh/test/hostile.test.ts'];
const JOIN = ['packages/mesh/test/join.test.ts', 'packages/mesh/test/hostile.test.ts'];

/** Frames, introductions and refusals of the mesh. */
export const mesh: readonly Mutant[] = [
  {
    id: 'mesh/frame-limit',
    package: PACKAGE,
    function: 'FrameReader.next',
    find: 'length < 1 || length > this.#limitBytes',
    replace: 'length < 1',
    fault: 'A stranger may announce frames of any length.',
    tests: FRAMES,
  },
  {
    id: 'mesh/frame-empty',
    package: PACKAGE,
    function: 'FrameReader.next',
    find: 'length < 1 || length > this.#limitBytes',
    replace: 'length > this.#limitBytes',
    fault: 'A frame without a type is taken.',
    tests: FRAMES,
  },
  {
    id: 'mesh/frame-split',
    package: PACKAGE,
    function: 'FrameReader.next',
    find: 'this.#bufferedBytes < total',
    replace: 'this.#bufferedBytes < LENGTH_BYTES',
    fault: 'A frame that has not arrived whole is taken.',
    tests: FRAMES,
  },
  {
    id: 'mesh/members-differ',
    package: PACKAGE,
    function: 'judgeHello',
    find: '!hello.digest.equals(options.digest)',
    replace: 'false',
    fault: 'Members with different lists form a mesh.',
    tests: JOIN,
  },
  {
    id: 'mesh/wrong-member',
    package: PACKAGE,
    function: 'judgeHello',
    find: 'hello.to !== options.id',
    replace: 'false',
    fault: 'A connection that was meant for another member is taken.',
    tests: JOIN,
  },
  {
    id: 'mesh/lower-dials',
    package: PACKAGE,
    function: 'judgeHello',
    find: '!options.peers.has(hello.from) || hello.from < options.id',
    replace: '!options.peers.has(hello.from)',
    fault: 'Both ends of a pair dial, and two connections stand.',
    tests: JOIN,
  },
  {
    id: 'mesh/late-joiner',
    package: PACKAGE,
    function: 'judgePlace',
    find: 'if (gathering) return undefined;',
    replace: 'return undefined;',
    fault: 'A member joins a mesh that has formed and has lost it.',
    tests: JOIN,
  },
  {
    id: 'mesh/duplicate-member',
    package: PACKAGE,
    function: 'judgePlace',
    find: 'gathering && present.instance.equals(hello.instance)',
    replace: 'gathering',
    fault: 'Another process takes the place of a member.',
    tests: JOIN,
  },
  {
    id: 'mesh/version-unchecked',
    package: PACKAGE,
    function: 'decodeHello',
    find: 'if (version !== ownVersion) return { version };',
    replace: '',
    fault: 'A HELLO of another version is read as one of this version.',
    tests: FRAMES,
  },
];
