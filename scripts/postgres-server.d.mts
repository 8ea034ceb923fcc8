interface Options {
  durable?: boolean
  settings?: Record<string, string | number>
  port?: number
}
interface Server {
  url: string
  port: number
  data: string
  pid: number
  log(): string
  stop(): Promise<void>
}
export function startPostgres(options?: Options): Promise<Server>
export function runAsOwner(program: string, args: readonly string[]): string
