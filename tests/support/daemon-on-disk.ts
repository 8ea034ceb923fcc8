import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Address, createPublicClient, http, parseAbi } from 'viem'
import { foundry } from 'viem/chains'
import { bin } from './process.ts'
import { acmeKey } from './seeds.ts'

export const adminHeaders = { authorization: 'Bearer adm_disk-test-0123456789' }

export interface Answered {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: the answers of all endpoints
  body: any
}

/** A daemon whose data and whose log are in one folder. */
export class DaemonOnDisk {
  readonly url: string
  readonly rpcUrl: string
  readonly #child: ChildProcess
  readonly #dir: string

  private constructor(
    child: ChildProcess,
    dir: string,
    ready: { url: string; chains: Record<string, string> },
  ) {
    this.#child = child
    this.#dir = dir
    this.url = ready.url
    this.rpcUrl = ready.chains['31337'] ?? ''
  }

  static async start(
    dir: string,
    args: string[] = [],
    env: Record<string, string> = {},
  ): Promise<DaemonOnDisk> {
    const log = openSync(join(dir, 'log'), 'a')
    const child = spawn(
      process.execPath,
      [bin('tapchipd'), '--data-dir', join(dir, 'data'), '--port', '0', '--log-level', 'debug', ...args],
      {
        stdio: ['ignore', 'pipe', log],
        env: {
          PATH: process.env.PATH ?? '',
          TAPCHIP_RATE_LIMIT: 'off',
          TAPCHIP_ADMIN_TOKEN: 'adm_disk-test-0123456789',
          ...env,
        },
      },
    )
    closeSync(log)
    const gone = once(child, 'exit').then(() => {
      throw new Error(`tapchipd ended: ${readFileSync(join(dir, 'log'), 'utf8').slice(-2000)}`)
    })
    gone.catch(() => undefined)
    if (!child.stdout) throw new Error('it has no standard output')
    const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), gone])
    return new DaemonOnDisk(child, dir, JSON.parse(String(line)))
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  get log(): string {
    return readFileSync(join(this.#dir, 'log'), 'utf8')
  }

  /** @param endpoint `METHOD /path` */
  async call(endpoint: string, init: RequestInit = {}): Promise<Answered> {
    const [method = '', path = ''] = endpoint.split(' ')
    const headers = new Headers(init.headers)
    if (path.startsWith('/admin')) headers.set('authorization', adminHeaders.authorization)
    const answer = await fetch(this.url + path, { ...init, method, headers, redirect: 'manual' })
    const text = await answer.text()
    const isJson = /^application\/json/.test(answer.headers.get('content-type') ?? '')
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      body: isJson ? JSON.parse(text) : undefined,
    }
  }

  /** As the team. */
  ask(endpoint: string, init: RequestInit = {}): Promise<Answered> {
    return this.call(endpoint, { ...init, headers: { ...init.headers, 'x-svc-api-key': acmeKey } })
  }

  /** Who has a token, by the embedded chain itself. */
  owner(contract: Address, tokenId: number): Promise<Address> {
    const client = createPublicClient({ chain: foundry, transport: http(this.rpcUrl), cacheTime: 0 })
    const abi = parseAbi(['function ownerOf(uint256) view returns (address)'])
    return client.readContract({ address: contract, abi, functionName: 'ownerOf', args: [BigInt(tokenId)] })
  }

  /** @returns its exit code */
  async end(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<number | null> {
    if (!this.isRunning) return this.#child.exitCode
    const gone = once(this.#child, 'exit')
    this.#child.kill(signal)
    const [code] = await gone
    return code as number | null
  }
}
