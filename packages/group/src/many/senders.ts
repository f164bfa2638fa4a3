/** The members that send: the root, all members, or those of a list of ids. */
export type Senders = 'root' | 'all' | readonly number[];

/** The order of the messages of a group of many senders. */
export type SenderOrder = 'sender' | 'total';
