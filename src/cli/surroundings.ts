/** What the program stands in: a test hands over its own. Nothing else in src/cli reads the process. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  readonly cwd: string
  readonly stdin: NodeJS.ReadableStream & { isTTY?: boolean }
  readonly stdout: Output
  readonly stderr: Output
  readonly now: () => Date
  readonly interrupts: Interrupts
  /** The path of bin/tapchipd.js beside the running bin/tapchip.js. */
  readonly daemonScript: () => string
}

export interface Output extends NodeJS.WritableStream {
  isTTY?: boolean
  columns?: number
}

export interface Interrupts {
  /**
   * From now on the first SIGINT calls `handler` instead of ending the process; the second always ends it.
   * Returns how to stop listening.
   */
  listen(handler: () => void): () => void
}

/** A folder by the XDG rule: the variable where it is an absolute path, else below the home. */
const xdg = (at: Pick<Surroundings, 'env' | 'home'>, variable: string, fallback: string): string => {
  const set = at.env[variable]
  return `${set?.startsWith('/') ? set : `${at.home}/${fallback}`}/tapchip`
}

export const configDir = (at: Pick<Surroundings, 'env' | 'home'>) => xdg(at, 'XDG_CONFIG_HOME', '.config')
export const stateDir = (at: Pick<Surroundings, 'env' | 'home'>) => xdg(at, 'XDG_STATE_HOME', '.local/state')
export const dataDir = (at: Pick<Surroundings, 'env' | 'home'>) =>
  at.env.TAPCHIP_DATA_DIR ?? xdg(at, 'XDG_DATA_HOME', '.local/share')
