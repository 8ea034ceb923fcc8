export interface MissingTool {
  /** For what, as in "tests with a browser". */
  what: string
  /** Globs. */
  tests: string[]
  why: string
  advice: string
}
export function missingTools(suite: 'fast' | 'long'): MissingTool[]
export function describeMissing(missing: readonly MissingTool[]): string
export const tools: readonly Pick<MissingTool, 'what' | 'tests' | 'advice'>[]
/** The package of pcsc-mini's binary for this computer. */
export const pcscMini: string
export const eximPath: string | undefined
export function hasMailServer(): boolean
export function hasFakeTime(): boolean
