export type Report = Record<string, unknown> & { figures: Record<string, unknown>[] }
export function resultOf(row: object): Record<string, unknown>
export function reportOf(rows: readonly object[], about: object): Report
