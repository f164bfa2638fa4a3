import { list, openRecord, type Shaped, text, whole } from '@rdmc/common/shapes';

/** What a server that joins a running cluster needs to know: the name of its mesh, and its members with their addresses there. */
export const clusterMembers = openRecord({
  clusterId: text(),
  members: list(openRecord({ id: whole(0), host: text(), port: whole() })),
});
export type ClusterMembers = Shaped<typeof clusterMembers>;
