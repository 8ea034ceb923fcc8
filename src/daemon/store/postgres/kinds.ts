/** Purpose of a connection; `control`: change notifications, and whether the server is alive. */
export const kinds = ['control', 'tap', 'read', 'write', 'slow'] as const
export type Kind = (typeof kinds)[number]

export interface Limits {
  /** Connections in use at once. */
  readonly max: number
  /** Deadline of one query, in milliseconds. */
  readonly queryMs: number
}

/** 24 connections per daemon: four daemons fit PostgreSQL's default of 100. */
export const defaultConnections = 24

/** Down to ten connections, every kind has its own; with fewer, kinds wait for each other. */
export function limitsOf(connections: number): Readonly<Record<Kind, Limits>> {
  const share = (of: number) => Math.max(1, Math.round((connections * of) / defaultConnections))
  const [write, slow, control] = [share(5), share(3), 2]
  const rest = Math.max(1, Math.floor((connections - write - slow - control) / 2))
  return {
    control: { max: control, queryMs: 2000 },
    // Separate from writes, so that a write waiting for a row never blocks taps.
    tap: { max: rest, queryMs: 15_000 },
    read: { max: rest, queryMs: 15_000 },
    write: { max: write, queryMs: 60_000 },
    slow: { max: slow, queryMs: 600_000 },
  }
}
