import { hash } from 'node:crypto'

/** The SQL function `revision`. The first letter keeps spreadsheets from reading it as a number. */
export const revisionOf = (values: unknown): string =>
  `r${hash('sha256', String(values), 'hex').slice(0, 12)}`
