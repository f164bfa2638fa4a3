/** Prints one line for people, and the same as an event for a program that started this one. */
export type Tell = (line: string, event: object) => void;
