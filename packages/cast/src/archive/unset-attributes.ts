/** Attributes that an archive cast has sent, and that a receiver has not set. This is not a failure. */
export interface UnsetAttributes {
  /** False: it has set nothing of this, because it was started without `archive`. True: it may not set them. */
  readonly accepted: boolean;
  /** Entries with another owner or group than at the sender. */
  readonly owners: number;
  /** Entries without the set-user-id, set-group-id or sticky bits that they have at the sender. */
  readonly modes: number;
  /** Entries without the extended attributes that they have at the sender. */
  readonly attributes: number;
  /** The system's code for the first attribute that could not be set: 'ENOTSUP' where the file system does not have attributes. */
  readonly attributeCode?: string | undefined;
}
