interface Options {
  durable?: boolean
  settings?: Record<string, string | number>
  port?: number
  parent?: string
}
interface Server {
  url: string
  port: number
  data: string
  readonly pid: number
  log(): string
  restart(
    signal: NodeJS.Signals,
    options?: { awayMs?: number; settings?: Record<string, string | number> },
  ): Promise<void>
  stop(): Promise<void>
}
export function startPostgres(options?: Options): Promise<Server>
export function runAsOwner(program: string, args: readonly string[]): string
