import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Answered } from './admin.ts'
import { adminToken, type Options, startTestDaemon, type TestDaemon } from './daemon.ts'
import { databaseOf, dropDatabaseOf } from './postgres.ts'

export type Call = (endpoint: string, body?: unknown, headers?: Record<string, string>) => Promise<Answered>

interface FleetDaemon extends TestDaemon {
  /** Calls with the admin token, unless other headers are given. `endpoint` is `METHOD /path`. */
  call: Call
}

export interface Fleet {
  daemons: FleetDaemon[]
  /** Of the database that they share. */
  env: Record<string, string>
  stop(): Promise<void>
}

export const callOn =
  (url: string): Call =>
  async (endpoint, body, headers = { authorization: `Bearer ${adminToken}` }) => {
    const [method = '', path = ''] = endpoint.split(' ')
    const response = await fetch(url + path, {
      method,
      redirect: 'manual',
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, body: isJson ? JSON.parse(text) : text, text }
  }

/** Daemons beside each other on one database, each with a data directory of its own. The first loads the seed. */
export async function startFleet({ seed, env: more, ...options }: Options = {}, count = 2): Promise<Fleet> {
  const shared = mkdtempSync(join(tmpdir(), 'tapchip-fleet-'))
  const env = await databaseOf(shared)
  const daemons: FleetDaemon[] = []
  const stop = async () => {
    await Promise.all(daemons.map((daemon) => daemon.stop()))
    rmSync(shared, { recursive: true, force: true })
    await dropDatabaseOf(shared)
  }
  try {
    for (let n = 0; n < count; n += 1) {
      const daemon = await startTestDaemon({
        ...options,
        env: { ...env, ...more },
        ...(n === 0 ? { seed } : {}),
      })
      daemons.push({ ...daemon, call: callOn(daemon.url) })
    }
  } catch (error) {
    await stop()
    throw error
  }
  return { daemons, env, stop }
}

/** @returns milliseconds until it held @throws after five seconds, with what it was last */
export async function untilItHolds(check: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  for (;;) {
    try {
      await check()
      return performance.now() - began
    } catch (error) {
      if (performance.now() - began > 5000) throw error
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
}
