export function tableOf(rows: readonly object[]): string
export function notesOf(rows: readonly object[]): string[]
