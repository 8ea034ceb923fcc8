/** The process and its system, as tests replace them. Nothing else in src/cli reads the process. */
export interface System {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  readonly cwd: string
  readonly stdin: NodeJS.ReadableStream & { isTTY?: boolean }
  readonly stdout: Output
  readonly stderr: Output
  readonly now: () => Date
  /** Default: this computer's. */
  readonly platform?: NodeJS.Platform | undefined
  readonly interrupts: Interrupts
  /** Calls back when the process exits, however it comes to that. @returns a function that stops listening */
  readonly atExit: (handler: () => void) => () => void
  /** The path of bin/tapchipd.js beside the running bin/tapchip.js. */
  readonly daemonScript: () => string
}

export interface Output extends NodeJS.WritableStream {
  isTTY?: boolean
  columns?: number
  rows?: number
}

export interface Interrupts {
  /**
   * From now on, the first SIGINT, SIGTERM, or SIGHUP calls `handler` instead of ending the process; the second
   * ends it, unless it is a SIGHUP.
   * @param last called before the second one ends the process
   * @returns a function that stops listening
   */
  listen(handler: (signal: NodeJS.Signals) => void, last?: () => void): () => void
}

/** In a CI job nobody looks at the terminal, even if there is one. */
export const isCi = ({ env }: Pick<System, 'env'>): boolean =>
  env.CI !== undefined && env.CI !== '' && env.CI !== 'false'

export type SystemPaths = Pick<System, 'env' | 'home'>

/** By the XDG rule: the variable if it is an absolute path, else a directory in the home. */
const xdg = (system: SystemPaths, variable: string, fallback: string): string => {
  const set = system.env[variable]
  return `${set?.startsWith('/') ? set : `${system.home}/${fallback}`}/tapchip`
}

export const configDir = (system: SystemPaths) => xdg(system, 'XDG_CONFIG_HOME', '.config')
export const stateDir = (system: SystemPaths) => xdg(system, 'XDG_STATE_HOME', '.local/state')
export const dataDir = (system: SystemPaths) =>
  system.env.TAPCHIP_DATA_DIR ?? xdg(system, 'XDG_DATA_HOME', '.local/share')
