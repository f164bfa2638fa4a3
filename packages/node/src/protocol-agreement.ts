// The attribute of the mesh with which a member announces its protocols:
//
//   rdmc.protocols   their names and versions, sorted: 'group/1 hipower/1'
import type { MeshAttributes, MeshPeer } from '@rdmc/mesh';
import { NodeError } from './errors.js';
import type { AnyProtocol } from './node-protocol.js';

const ATTRIBUTE = 'rdmc.protocols';

export function protocolAttributes(protocols: readonly AnyProtocol[]): MeshAttributes {
  return {
    [ATTRIBUTE]: protocols
      .map(({ name, version }) => `${name}/${version}`)
      .sort()
      .join(' '),
  };
}

/**
 * Checks that all members run the same protocols. Members without protocols, such as a coordinator, do not count.
 * @throws NodeError ERR_RDMC_PROTOCOL_MISMATCH with `memberId`, and in `field` the protocol
 */
export function agreeOnProtocols(
  ownId: number,
  own: readonly AnyProtocol[],
  peers: Iterable<Pick<MeshPeer, 'id' | 'attributes'>>,
): void {
  const ours = parse(protocolAttributes(own))!;
  for (const { id, attributes } of peers) {
    const theirs = parse(attributes);
    if (theirs) compare([ownId, ours], [id, theirs]);
  }
}

type Versions = ReadonlyMap<string, string>;
type Side = readonly [id: number, versions: Versions];

function parse(attributes: MeshAttributes): Versions | undefined {
  const text = attributes[ATTRIBUTE];
  if (text === undefined) return undefined;
  const pairs = String(text).split(' ').filter(Boolean);
  return new Map(pairs.map((pair) => pair.split('/') as [string, string]));
}

function compare([ownId, ours]: Side, [id, theirs]: Side): void {
  for (const name of new Set([...ours.keys(), ...theirs.keys()])) {
    const [own, other] = [ours.get(name), theirs.get(name)];
    if (own === other) continue;
    throw new NodeError(
      'ERR_RDMC_PROTOCOL_MISMATCH',
      `protocol '${name}': member ${ownId} ${runs(own)}, member ${id} ${runs(other)}; ` +
        'all members of a cluster run the same protocols in the same versions',
      { memberId: id, field: name },
    );
  }
}

function runs(version: string | undefined): string {
  return version === undefined ? 'does not run it' : `runs version ${version}`;
}
