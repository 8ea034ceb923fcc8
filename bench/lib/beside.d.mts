type Row = Record<string, unknown> & { name: string }
export interface Turns {
  take(): Promise<void>
  give(): void
}
export function takingTurns(): Turns
export function measureBeside(
  measure: (plan: { rounds?: number }, checkout: string | undefined, turns: Turns) => Promise<Row[]>,
  plan: { seconds: number; rounds?: number },
  checkout: string,
): Promise<Row[]>
