/** Entry of the store that keeps a coordinator's state in etcd. */
export { EtcdStore } from './coordinator/etcd-store.js';
export type { EtcdStoreOptions } from './coordinator/etcd-store-options.js';
